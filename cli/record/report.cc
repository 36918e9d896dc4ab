// RecordReport: everything here is for people, but the files.
#include "cli/record/report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <set>
#include <string_view>

#include "cli/format/escape.h"
#include "cli/format/ledger_text.h"
#include "cli/format/summary.h"
#include "cli/format/text.h"
#include "cli/host/log.h"
#include "cli/host/terminal.h"
#include "cli/profile/telling_key.h"
#include "cli/record/messages.h"
#include "cli/record/missing_names.h"
#include "cli/record/stack_ends.h"
#include "cli/unwind/missing_tables.h"

namespace labelscope::cli {
namespace {

SummaryStyle style_for(ColorMode mode, int fd) {
  SummaryStyle style;
  style.color = use_color(mode, fd);
  style.unicode = shows_unicode();
  constexpr std::size_t kLeastWidth = 40;
  const std::size_t width = terminal_width(fd);
  style.width = width == 0 ? 0 : std::max(width, kLeastWidth);
  style.functions = 3;
  return style;
}

std::string file_size(std::uint64_t bytes) {
  return bytes < 10240 ? with_thousands(bytes) + " bytes" : with_thousands(bytes / 1024) + " KiB";
}

std::set<std::string_view> keys_of(const Profile& profile) {
  // What every sample has, whatever the target says (docs/recording-format.md).
  std::set<std::string_view> keys = {"pid", "thread_id", "thread_name", "comm"};
  for (const LabelSet& labels : profile.label_sets) {
    for (const Label& label : labels) keys.insert(label.key);
  }
  return keys;
}

std::uint64_t conflicts(const Profile& profile) {
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.flags & LS_KEY_CONFLICT) count += row.count;
  }
  return count;
}

}  // namespace

void RecordReport::say_problems() const {
  say_missing_keys();
  for (const std::string& line : ledger_problems(profile_.ledger)) log::warning(line);
  if (tables_ != nullptr) warn_of_missing_tables(tables_->failures());
  if (const std::string refusal = recorder_.sampler().refusal(); !refusal.empty()) {
    log::warning("a thread may not be stopped: " + escape_terminal(refusal));
  }
  if (const std::uint64_t count = conflicts(profile_); count > 0) {
    log::warning("in " + with_thousands(count) +
                 " samples two publishers set one key to different values: each value is shown "
                 "with its publisher");
  }
  for (const auto& [name, count] : profile_.ledger.counters) {
    log::verbose("  counted: " + with_thousands(count) + " " + name);
  }
  if (const std::string text = stack_ends_text(profile_); !text.empty()) log::info(text);
  for (const std::string& line : missing_names(profile_)) log::info(line);
}

bool RecordReport::write_files(Outputs& outputs) {
  RenderOptions rendering;
  rendering.group_by = options_.group_by;
  written_ = outputs.write(profile_, rendering, write_errors_);
  return write_errors_.empty();
}

bool RecordReport::show_labels(const Outputs& outputs) {
  bool written = true;
  if (!options_.summary.empty()) {
    int fd = outputs.take_stdout() ? STDERR_FILENO : STDOUT_FILENO;
    std::ostream& out = outputs.take_stdout() ? std::cerr : std::cout;
    errno = 0;
    Status status = options_.json ? render_summary_json(profile_, options_.summary, out)
                                  : render_summary(profile_, options_.summary,
                                                   style_for(options_.messages.color, fd), out);
    written = status && out.flush();
    if (!written) {
      write_errors_.push_back({ErrorCode::kSystem, cannot_write("the summary to stdout", errno)});
    }
  }
  if (options_.messages.log_level == log::Level::kQuiet) return written;
  // A stderr that cannot be written to has nobody to tell.
  SummaryStyle style = style_for(options_.messages.color, STDERR_FILENO);
  if (!options_.summary.empty()) style.functions = 0;  // it has told them
  static_cast<void>(render_label_keys(profile_, style, std::cerr));
  explain_missing_labels();
  return written;
}

// That there are none was said: why, in one sentence for all processes.
void RecordReport::explain_missing_labels() const {
  if (profile_.ledger.outcomes[LS_LABELLED] > 0) return;
  const auto& processes = recorder_.processes();
  const auto publishing = std::find_if(processes.begin(), processes.end(), [](const auto& entry) {
    return !entry.second->publisher_paths().empty();
  });
  const auto refused = std::find_if(processes.begin(), processes.end(), [](const auto& entry) {
    return !entry.second->plan().refusals.empty();
  });
  if (publishing != processes.end()) {
    const bool read = profile_.ledger.outcomes[LS_UNLABELLED] > 0;
    log::info("  " + describe_labels(*publishing->second) +
              (read ? "; but no thread that was sampled had set any" : ""));
  } else if (refused != processes.end() || processes.size() == 1) {
    const auto told = refused != processes.end() ? refused : processes.begin();
    log::info("  " + describe_labels(*told->second));
  } else if (!processes.empty()) {
    log::info("  none of the files that the " + with_thousands(processes.size()) +
              " processes have loaded publishes labels (" +
              processes.begin()->second->plan().sources + ")");
  }
}

void RecordReport::say_missing_keys() const {
  const std::set<std::string_view> known = keys_of(profile_);
  std::set<std::string> missing;
  for (const auto* asked : {&options_.summary, &options_.group_by}) {
    for (const std::string& key : *asked) {
      if (!known.contains(key)) missing.insert(key);
    }
  }
  for (const std::string& key : missing) {
    log::warning("no sample has the label " + escape_terminal(key));
  }
}

// What to do next; empty where nothing is known to help.
std::string RecordReport::next_step() const {
  const auto pprof = std::find_if(written_.begin(), written_.end(), [](const WrittenFile& file) {
    return file.format == Format::kPprof && file.path != "-";
  });
  const auto page = std::find_if(written_.begin(), written_.end(), [](const WrittenFile& file) {
    return file.format == Format::kHtml && file.path != "-";
  });
  if (page != written_.end()) return "open " + escape_terminal(page->path) + " in a browser";
  if (pprof == written_.end()) return {};
  std::string key = telling_key(profile_);
  // A key comes from the target, and this line is there to be pasted into a shell.
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@";
  if (key.find_first_not_of(kPlain) != std::string::npos) key.clear();
  return "go tool pprof -top " + (key.empty() ? key : "-cum -tagroot=" + key + " ") +
         escape_terminal(pprof->path);
}

void RecordReport::say_files() const {
  for (const WrittenFile& file : written_) {
    if (file.path == "-") continue;
    log::info("Wrote " + escape_terminal(file.path) + " (" + file_size(file.size) + ", " +
              std::string(file.format.name) + ")");
  }
  for (const Error& error : write_errors_) log::error(escape_terminal(error.context));
  if (written_.empty()) log::error("no file was written");
}

void RecordReport::say_ledger() const {
  log::info(time_line(profile_));
  log::info(ledger_line(profile_));
  if (const std::string stacks = stacks_line(profile_.ledger); !stacks.empty()) log::info(stacks);
  if (const std::string next = next_step(); !next.empty()) log::info("next: " + next);
}

}  // namespace labelscope::cli
