#include "cli/report/profile_report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/answer/blame.h"
#include "cli/answer/summary.h"
#include "cli/format/common/ledger_text.h"
#include "cli/host/log.h"
#include "cli/host/terminal.h"
#include "cli/profile/blame.h"
#include "cli/profile/key_use.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/value_caps.h"
#include "cli/report/read_recordings.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
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

namespace {

std::string file_size(std::uint64_t bytes) {
  return bytes < 10240 ? with_thousands(bytes) + " bytes" : with_thousands(bytes / 1024) + " KiB";
}

}  // namespace

ProfileReport::ProfileReport(const OutputOptions& options, const Profile& profile)
    : options_(options), profile_(profile), shown_(without_idle(profile, options.idle, idle_)) {}

bool ProfileReport::write_files(Outputs& outputs, std::string source) {
  RenderOptions rendering;
  rendering.source = std::move(source);
  rendering.group_by = options_.group_by;
  written_ = outputs.write(profile_, shown(), rendering);
  return written_.errors.empty();
}

bool ProfileReport::show_summary(bool stdout_is_taken) {
  if (options_.summary.empty()) return true;
  const int fd = stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO;
  std::ostream& out = stdout_is_taken ? std::cerr : std::cout;
  errno = 0;
  const Status status = options_.json ? render_summary_json(shown(), options_.summary, out)
                                      : render_summary(shown(), options_.summary,
                                                       style_for(options_.messages.color, fd), out);
  const bool written = status && out.flush();
  if (!written) {
    log::error(cannot_write("the summary to stdout", errno));
  }
  return written;
}

bool ProfileReport::show_blame(bool stdout_is_taken) {
  if (options_.blame.empty()) return true;
  if (!shown().has_blame) {
    log::error("--blame: " + escape_terminal(why_no_blame(shown())));
    return false;
  }
  for (const std::string& key : options_.blame) {
    if (has_blame_by(shown(), key)) continue;
    log::error("--blame: " + escape_terminal(why_no_blame_by(shown(), key)));
    return false;
  }
  const int fd = stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO;
  std::ostream& out = stdout_is_taken ? std::cerr : std::cout;
  errno = 0;
  if (!options_.json && !options_.summary.empty()) out << '\n';
  const Status status = options_.json ? render_blame_json(shown(), options_.blame, out)
                                      : render_blame(shown(), options_.blame,
                                                     style_for(options_.messages.color, fd), out);
  const bool written = status && out.flush();
  if (!written) log::error(cannot_write("who made whom wait to stdout", errno));
  return written;
}

bool ProfileReport::show_keys(std::ostream& out, int fd) const {
  SummaryStyle style = style_for(options_.messages.color, fd);
  if (!options_.summary.empty()) style.functions = 0;
  return render_label_keys(shown(), style, out) && out.flush();
}

void ProfileReport::say_missing_keys() const {
  std::set<std::string> known;
  add_keys(profile_, known);
  warn_of_unknown_keys(options_.summary, "--summary", known);
  warn_of_unknown_keys(options_.blame, "--blame", known);
  warn_of_unknown_keys(options_.group_by, "--group-by", known);
}

void ProfileReport::say_label_sets() const {
  for (const Counter counter :
       {Counter::kLabelsLeftOut, Counter::kLabelsHashed, Counter::kLabelsLearned}) {
    const std::uint64_t count = profile_.ledger.counters[counter];
    if (count != 0) log::info(std::string(text_of(counter).what) + ": " + with_thousands(count));
  }
  for (const CappedLabel& label : profile_.capped) {
    log::warning(escape_terminal(capped_text(label, profile_)));
  }
  const std::optional<ManyLabelSets> many = many_label_sets(profile_);
  if (!many) return;
  std::string keys;
  std::string what;
  for (const auto& [key, values] : many->keys) {
    const std::string shown = needs_quotes(key) ? quote_terminal(key) : escape_terminal(key);
    keys += (keys.empty() ? "" : ",") + shown;
    what += (what.empty() ? "" : ", and ") + ("the label " + shown) + " has " +
            with_thousands(values) + " values";
  }
  const bool one = many->keys.size() == 1;
  std::string advice =
      "Leave " + std::string(one ? "it" : "them") + " out with --label-deny " + keys;
  // Groups of two labels are as many pairs as there were sets.
  if (one) advice += ", or put its values into 256 groups with --label-hash " + keys;
  log::warning(with_thousands(many->sets) + " different label sets make viewers slow: " + what +
               ". Without " + (one ? "it" : "them") + " there are " +
               with_thousands(many->without) + " sets. " + advice);
}

// Returns what to do next; empty if nothing is known to help.
std::string ProfileReport::next_step() const {
  const auto pprof = std::find_if(written_.files.begin(), written_.files.end(), [](const WrittenFile& file) {
    return file.format == Format::kPprof && file.path != "-";
  });
  const auto page = std::find_if(written_.files.begin(), written_.files.end(), [](const WrittenFile& file) {
    return file.format == Format::kHtml && file.path != "-";
  });
  if (page != written_.files.end()) return "open " + escape_terminal(page->path) + " in a browser";
  if (pprof == written_.files.end()) return {};
  std::string key = options_.group_by.empty() ? best_key(profile_) : std::string();
  // A key comes from the target, and users paste this line into a shell.
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@";
  if (key.find_first_not_of(kPlain) != std::string::npos) key.clear();
  return "go tool pprof -top " + (key.empty() ? key : "-cum -tagroot=" + key + " ") +
         escape_terminal(pprof->path);
}

void ProfileReport::say_files() const {
  for (const WrittenFile& file : written_.files) {
    if (file.path == "-") continue;
    log::info("Wrote " + escape_terminal(file.path) + " (" + file_size(file.size) + ", " +
              std::string(file.format.name) + ")");
  }
  for (const Error& error : written_.errors) log::error(escape_terminal(error.context));
  if (written_.files.empty()) log::error("no file was written");
}

void ProfileReport::say_ledger() const {
  const std::size_t width = terminal_width(STDERR_FILENO);
  for (const std::string& sentence : {time_line(profile_), ledger_line(profile_),
                                      stacks_line(profile_.ledger), threads_line(profile_)}) {
    if (sentence.empty()) continue;
    for (const std::string& line : wrap(sentence, width)) log::info(line);
  }
  constexpr std::size_t kMostThreads = 10;
  if (const std::string line = large_residues_line(profile_); !line.empty()) {
    for (const std::string& part : wrap(line, width)) log::info(part);
  }
  for (const std::string& line : worst_threads(profile_, kMostThreads)) log::verbose(line);
  if (shown_) {
    log::info(time_text(idle_.ns) + (options_.idle == IdleMode::kDrop
                                         ? " of waits for work are left out (--idle fold or show)"
                                         : " of waits for work are in one row, and in no share: "
                                           "--idle show divides them, --idle drop leaves them "
                                           "out"));
  }
  if (const std::string next = next_step(); !next.empty()) log::info("next: " + next);
}

}  // namespace labelscope::cli
