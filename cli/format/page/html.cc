// The page: one file for a browser, with all samples in it. It needs no network and no server.
//
//   head    what the page may do: run this one script, and nothing else
//   style, body, script    the same in every page
//   facts   JSON: what was recorded and how
//   profile the columns of page_columns.cc, compressed, in base64
//
// Every text from the target is in the last two blocks. Neither can end its element: "<" is escaped
// in JSON, and base64 has none. The script puts them on the screen as text, never as HTML; the
// policy in the head makes the browser refuse anything else (require-trusted-types-for).
#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/format/common/gzip_writer.h"
#include "cli/format/common/json_values.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/page/page_assets.h"
#include "cli/format/page/page_columns.h"
#include "cli/profile/key_use.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

using Json = nlohmann::ordered_json;

// The form of a hash in a policy: base64 of its bytes.
std::string policy_hash(std::string_view hex_digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex_digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex_digits.substr(i, 2)), nullptr, 16));
  }
  return "'sha256-" + base64_encode(bytes) + "'";
}

std::string policy() {
  return "default-src 'none'; script-src " + policy_hash(kPageScriptHash) + "; style-src " +
         policy_hash(kPageStyleHash) +
         "; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
         "trusted-types 'none'";
}

// Counts how many of the samples with a stack have a complete one, by the counters "stacks-*".
Json stacks_json(const Ledger& ledger) {
  std::uint64_t all = 0;
  std::uint64_t complete = 0;
  Json ends = Json::object();
  for (const auto& [end, count] : ledger.counters.stacks_by_end()) {
    all += count;
    if (end == "complete") complete = count;
    ends[escape_terminal(end)] = count;
  }
  return all == 0 ? Json(nullptr)
                  : Json{{"all", all}, {"complete", complete}, {"ends", std::move(ends)}};
}

// The facts that processes have published about themselves.
Json processes_json(const Profile& profile) {
  Json processes = Json::array();
  for (const Process& process : profile.processes) {
    if (process.attributes.empty()) continue;
    Json attributes = Json::array();
    for (const auto& [key, value] : process.attributes) {
      attributes.push_back(escape_terminal(key) + "=" + escape_terminal(value));
    }
    processes.push_back({{"pid", raw(process.pid)},
                         {"comm", escape_terminal(process.comm)},
                         {"attributes", std::move(attributes)}});
  }
  return processes;
}

// "10 s", "0.4 s"
std::string length_text(std::uint64_t ns) {
  const std::uint64_t tenths = (ns + 50'000'000) / 100'000'000;
  return tenths >= 100 || tenths % 10 == 0
             ? with_thousands((tenths + 5) / 10) + " s"
             : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// "postgres, pid 42", "postgres, 12 processes", "nginx and 3 other processes": by the one with most
// time; empty where no process is known.
std::string processes_text(const Profile& profile) {
  std::map<Index, std::uint64_t> weights;
  for (const SampleRow& row : profile.rows) {
    if (row.thread != kNoIndex) weights[profile.threads[row.thread].process] += row.weight_ns;
  }
  if (weights.empty()) return {};
  const auto comm_of = [&](Index process) {
    return process < profile.processes.size() ? std::string_view(profile.processes[process].comm)
                                              : std::string_view();
  };
  const auto heaviest =
      std::ranges::max_element(weights, {}, [](const auto& process) { return process.second; });
  const std::string_view comm = comm_of(heaviest->first);
  if (comm.empty()) return {};
  const std::string name(comm);
  if (weights.size() == 1)
    return name + ", pid " + std::to_string(raw(profile.pid_of(heaviest->first)));
  const bool same = std::ranges::all_of(
      weights, [&](const auto& process) { return comm_of(process.first) == comm; });
  if (same) return name + ", " + with_thousands(weights.size()) + " processes";
  return name + " and " + counted(weights.size() - 1, "other process", "other processes");
}

// What was profiled: "postgres, pid 42, 10 s, 26 Nov 2026". Empty for a file of another tool that
// knows no process.
std::string page_title(const Profile& profile, const RenderOptions& options) {
  if (!options.compare_by.empty()) return options.source;
  std::string title = processes_text(profile);
  if (title.empty()) return title;
  if (profile.duration_ns > 0) title += ", " + length_text(profile.duration_ns);
  if (profile.start_unix_ns == 0) return title;
  const auto seconds = static_cast<std::time_t>(profile.start_unix_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 32> date{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return title;
  if (std::strftime(date.data(), date.size(), ", %d %b %Y", &parts) == 0) return title;
  const std::string_view text(date.data());
  // No zero in front of the day.
  return title + ", " + std::string(text.substr(text[2] == '0' ? 3 : 2));
}

Json facts_json(const Profile& profile, const RenderOptions& options, const PageColumns& columns) {
  const Ledger& ledger = profile.ledger;
  const ValueType values = profile.whole_value();
  Json group_by = Json::array();
  for (const std::string& key : options.group_by) group_by.push_back(escape_terminal(key));
  Json counters = Json::object();
  for (const auto& [name, count] : ledger.named()) counters[escape_terminal(name)] = count;
  // Statistics in words; problems keep their names, by which documents explain them.
  Json words = Json::object();
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const CounterText& text = text_of(static_cast<Counter>(i));
    const bool statistic = text.meaning == CounterText::Meaning::kStatistic;
    if (statistic && ledger.counters[text.counter] != 0) words[std::string(text.name)] = text.what;
  }
  return Json{{"version", escape_terminal(profile.tool_version)},
              {"title", escape_terminal(page_title(profile, options))},
              {"command", escape_terminal(profile.command_line)},
              // A recording of labelscope has its command, so the place of the file does not belong
              // to it.
              {"source", profile.tool_version.empty() ? escape_terminal(options.source) : ""},
              {"event", escape_terminal(profile.event)},
              {"mode", escape_terminal(values.name)},
              {"unit", escape_terminal(values.unit)},
              {"counted", escape_terminal(profile.counted)},
              {"backend", escape_terminal(profile.backend)},
              {"call_graph", escape_terminal(profile.call_graph)},
              {"kernel", escape_terminal(profile.kernel_release)},
              {"start_unix_ms", profile.start_unix_ns / 1'000'000},
              {"duration_ns", profile.duration_ns},
              {"period_ns", profile.period_ns},
              {"tick_ns", columns.tick_ns},
              {"rows", columns.rows},
              {"written", ledger.written},
              {"dropped", ledger.dropped},
              {"truncated", ledger.truncated},
              {"time_line", escape_terminal(time_line(profile))},
              {"ledger_line", escape_terminal(ledger_line(profile))},
              {"stacks", stacks_json(ledger)},
              {"has_stacks", !profile.stacks.empty()},
              {"part", escape_terminal(remarks_line(profile))},
              {"counters", std::move(counters)},
              {"counter_words", std::move(words)},
              {"processes", processes_json(profile)},
              {"best_key", escape_terminal(best_key(profile))},
              {"group_by", std::move(group_by)},
              {"compare_by", escape_terminal(options.compare_by)}};
}

// JSON inside of an element: nothing in it may look like the element's end, or like a comment.
std::string json_block(const Json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Status render_html(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  PageColumns columns = page_columns(profile);
  std::ostringstream compressed;
  GzipWriter gzip(compressed);
  gzip.write(columns.bytes);
  if (Status status = gzip.finish(); !status) return status;
  std::string().swap(columns.bytes);

  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      << "<meta http-equiv=\"Content-Security-Policy\" content=\"" << policy() << "\">\n"
      << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      << "<meta name=\"color-scheme\" content=\"light dark\">\n"
      << "<meta name=\"referrer\" content=\"no-referrer\">\n"
      << "<title>labelscope</title>\n<style>" << kPageStyle << "</style>\n</head>\n<body>\n"
      << kPageBody << "<script type=\"application/json\" id=\"facts\">"
      << json_block(facts_json(profile, options, columns)) << "</script>\n"
      << "<script type=\"text/plain\" id=\"profile\">" << base64_encode(compressed.view())
      << "</script>\n<script>" << kPageScript << "</script>\n</body>\n</html>\n";
  return flush_output(out);
}

}  // namespace labelscope::cli
