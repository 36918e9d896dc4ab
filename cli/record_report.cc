// RecordReport: everything here is for people, but the files.
#include "cli/record_report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>
#include <string_view>

#include "cli/format/amounts.h"
#include "cli/format/escape.h"
#include "cli/format/summary.h"
#include "cli/log.h"
#include "cli/profile/telling_key.h"
#include "cli/record/messages.h"
#include "cli/record/progress.h"
#include "cli/terminal.h"

namespace labelscope::cli {
namespace {

// More processes than this are not spelled out one by one.
constexpr std::size_t kMostProcesses = 5;

SummaryStyle style_for(ColorMode mode, int fd) {
  SummaryStyle style;
  style.color = use_color(mode, fd);
  style.unicode = shows_unicode();
  constexpr std::size_t kLeastWidth = 40;
  if (const std::size_t width = terminal_width(fd); width >= kLeastWidth) style.width = width;
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
  for (const std::string& line : ledger_problems(profile_.ledger)) log::warning(line);
  if (const std::uint64_t count = conflicts(profile_); count > 0) {
    log::warning("in " + with_thousands(count) +
                 " samples two publishers set one key to different values: each value is shown "
                 "with its publisher");
  }
  for (const auto& [name, count] : profile_.ledger.counters) {
    log::verbose("  counted: " + with_thousands(count) + " " + name);
  }
  const std::uint64_t broken = recorder_.broken_stacks();
  // Some code without frame pointers is everywhere; a tenth of all samples is worth a word.
  if (broken * 10 > profile_.ledger.written) {
    log::info(percent(broken, profile_.ledger.written) +
              " of the stacks are cut short: they pass through code without frame pointers "
              "(compile it with -fno-omit-frame-pointer, or record with --backend ptrace)");
  }
}

bool RecordReport::write_files(Outputs& outputs) const {
  RenderOptions rendering;
  rendering.group_by = options_.group_by;
  std::vector<Error> errors;
  for (const WrittenFile& file : outputs.write(profile_, rendering, errors)) {
    if (file.path == "-") continue;
    log::info("Wrote " + escape_terminal(file.path) + " (" + file_size(file.size) + ", " +
              std::string(format_name(file.format)) + ")");
  }
  for (const Error& error : errors) log::error(escape_terminal(error.context));
  return errors.empty();
}

bool RecordReport::show_labels(const Outputs& outputs) const {
  bool written = true;
  if (!options_.summary.empty()) {
    int fd = outputs.take_stdout() ? STDERR_FILENO : STDOUT_FILENO;
    std::ostream& out = outputs.take_stdout() ? std::cerr : std::cout;
    errno = 0;
    Status status =
        render_summary(profile_, options_.summary, style_for(options_.messages.color, fd), out);
    written = status && out.flush();
    if (!written) {
      log::error("writing the summary to stdout failed" +
                 (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()) +
                 "; the files are written");
    }
  }
  explain_missing_labels();
  say_missing_keys();
  if (options_.messages.log_level == log::Level::kQuiet) return written;
  // A stderr that cannot be written to has nobody to tell.
  static_cast<void>(
      render_label_keys(profile_, style_for(options_.messages.color, STDERR_FILENO), std::cerr));
  return written;
}

void RecordReport::explain_missing_labels() const {
  const bool labelled = profile_.ledger.outcomes[LS_LABELLED] > 0;
  std::size_t said = 0;
  for (const auto& [pid, process] : recorder_.processes()) {
    const bool publishes = !process->publisher_paths().empty();
    if (labelled && (options_.command.empty() || !publishes)) continue;
    if (said++ == kMostProcesses) {
      log::info("  ... and so on for " + std::to_string(recorder_.processes().size()) +
                " processes");
      return;
    }
    // Of a command nothing could be said beforehand.
    std::string line = (labelled ? "  " : "No labels: ") + describe_labels(*process);
    if (!labelled && publishes) line += "; but no thread that was sampled had set any";
    log::info(line);
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

// For the end of the last line.
std::string RecordReport::next_step(const Outputs& outputs) const {
  const std::string* path = outputs.pprof_path();
  if (path == nullptr) return {};
  std::string key = telling_key(profile_);
  if (!options_.summary.empty() && keys_of(profile_).contains(options_.summary.front())) {
    key = options_.summary.front();
  }
  // A key comes from the target, and this line is there to be pasted into a shell.
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@";
  if (key.find_first_not_of(kPlain) != std::string::npos) key.clear();
  return "; next: go tool pprof -top " + (key.empty() ? key : "-cum -tagroot=" + key + " ") +
         escape_terminal(*path);
}

void RecordReport::say_ledger(const Outputs& outputs) const {
  log::info(ledger_line(profile_) + next_step(outputs));
}

}  // namespace labelscope::cli
