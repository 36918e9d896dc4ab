// Reads, adds up, selects, renders.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cli/commands.h"
#include "cli/format/escape.h"
#include "cli/format/jsonl_reader.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/rights.h"
#include "cli/profile/merge.h"
#include "cli/report/profile_report.h"

namespace labelscope::cli {
namespace {

Result<ReadRecording> read(const std::string& path) {
  if (path == "-") return read_jsonl(std::cin);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error(errno, "cannot open it");
  return read_jsonl(file);
}

// What is wrong with one of the recordings is said here. Empty: `status` is the exit status.
struct AllRecordings {
  std::optional<Profile> profile;
  int status = kExitOk;
};

AllRecordings read_all(const ReportOptions& options) {
  AllRecordings all;
  for (const std::string& path : options.recordings) {
    const std::string name = path == "-" ? "stdin" : escape_terminal(path);
    auto recording = read(path);
    Status done = recording ? select(recording->profile, options.selection)
                            : Status(std::move(recording).error());
    if (done) {
      for (const std::string& lost : recording->lost) {
        log::warning(name + ": " + escape_terminal(lost));
        all.status = kExitRuntimeError;
      }
      if (all.profile) {
        done = merge(*all.profile, std::move(recording->profile));
      } else {
        all.profile = std::move(recording->profile);
      }
    }
    if (!done) {
      log::error(name + ": " + escape_terminal(done.error().context));
      return {std::nullopt, status_of(done.error())};
    }
  }
  return all;
}

}  // namespace

int run(const ReportOptions& options) {
  std::optional<Outputs> outputs;
  if (!options.outputs.empty()) {
    auto opened = Outputs::open(options.outputs, options.format, options.overwrite, Pid{}, {});
    if (!opened) {
      log::error(escape_terminal(opened.error().context));
      return kExitRuntimeError;
    }
    outputs = *std::move(opened);
  }
  AllRecordings all = read_all(options);
  if (!all.profile) return all.status;
  apply_rules(options.labels, *all.profile);
  if (all.profile->rows.empty()) {
    log::error(options.selection.empty() ? "the recording has no samples"
                                         : "no sample is left of the recording");
    return kExitNoSample;
  }
  ProfileReport report(options, *all.profile);
  bool written = !outputs || report.write_files(*outputs);
  written &= report.show_summary(outputs && outputs->take_stdout());
  if (!outputs && options.summary.empty()) {
    report.show_keys(std::cout, STDOUT_FILENO);
    written &= static_cast<bool>(std::cout.flush());
  }
  report.say_missing_keys();
  report.say_label_sets();
  if (outputs) report.say_files();
  report.say_ledger();
  return written ? all.status : kExitRuntimeError;
}

}  // namespace labelscope::cli
