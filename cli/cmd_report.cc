// Reads recordings, adds them up, selects samples, renders.
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/report/profile_report.h"
#include "cli/report/read_recordings.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Returns "heap.pprof, other.pprof".
std::string file_names(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& path : paths) {
    if (path == "-") continue;
    names += (names.empty() ? "" : ", ") + std::string(base_name(path));
  }
  return names;
}

}  // namespace

int run(const ReportOptions& options) {
  raise_file_limit();  // all recordings are opened before the first is read
  std::optional<Outputs> outputs;
  if (!options.outputs.empty()) {
    const UsersOwnRights own;
    auto opened = Outputs::open(options.outputs, options.format, options.overwrite);
    if (!opened) {
      log::error(escape_terminal(opened.error().context));
      return status_of_outputs(opened.error());
    }
    outputs = *std::move(opened);
  }
  auto recordings = open_recordings(options.recordings, outputs ? &*outputs : nullptr);
  if (!recordings) {
    log::error(recordings.error().context);
    return kExitRuntimeError;
  }
  ReadRecordings all = read_recordings(*recordings, options.selection, options.value);
  if (!all.profile) return all.status;
  const MetKeys met = apply_rules(options.labels, *all.profile);
  cap_values(options.caps, *all.profile);
  if (all.profile->rows.empty()) {
    log::error(options.selection.empty() ? "the recording has no samples"
                                         : why_none_is_left(options.selection, all));
    return all.status == kExitOk ? static_cast<int>(kExitNoSample) : all.status;
  }
  if (has_no_values(*all.profile)) {
    log::error(no_values_text(*all.profile));
    return all.status == kExitOk ? static_cast<int>(kExitNoSample) : all.status;
  }
  ProfileReport report(options, *all.profile);
  bool written = !outputs || report.write_files(*outputs, file_names(options.recordings));
  written &= report.show_summary(outputs && outputs->take_stdout());
  written &= report.show_blame(outputs && outputs->take_stdout());
  if (!outputs && options.summary.empty() && options.blame.empty()) {
    errno = 0;
    if (!report.show_keys(std::cout, STDOUT_FILENO)) {
      log::error(cannot_write("what the recordings hold to stdout", errno));
      written = false;
    }
  }
  report.say_missing_keys();
  report.say_label_sets();
  for (const std::string& line : unmet_rules(options.labels, met)) {
    log::warning(escape_terminal(line));
  }
  if (outputs) report.say_files();
  report.say_ledger();
  return written ? all.status : kExitRuntimeError;
}

}  // namespace labelscope::cli
