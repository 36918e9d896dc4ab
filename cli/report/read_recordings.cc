#include "cli/report/read_recordings.h"

#include <cerrno>
#include <fstream>
#include <iostream>

#include "cli/format/escape.h"
#include "cli/format/recording_reader.h"
#include "cli/host/log.h"
#include "cli/profile/merge.h"

namespace labelscope::cli {
namespace {

Result<ReadRecording> read(const std::string& path) {
  if (path == "-") return read_recording(std::cin);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error(errno, "cannot open it");
  return read_recording(file);
}

}  // namespace

ReadRecordings read_recordings(const std::vector<std::string>& paths, const Selection& selection) {
  ReadRecordings all;
  for (const std::string& path : paths) {
    const std::string name = path == "-" ? "stdin" : escape_terminal(path);
    auto recording = read(path);
    Status done =
        recording ? select(recording->profile, selection) : Status(std::move(recording).error());
    if (done) {
      for (const std::string& note : recording->notes) {
        log::info(name + ": " + escape_terminal(note));
      }
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

}  // namespace labelscope::cli
