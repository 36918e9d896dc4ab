// Recordings from files: read, chosen from, added up. What is wrong with one is said here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/format/selection.h"
#include "cli/host/exit_status.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

struct ReadRecordings {
  std::optional<Profile> profile;  // empty: one could not be read, and `status` says why
  int status = kExitOk;  // of what was read: kExitRuntimeError if something of it was lost
};

// "-" is stdin.
ReadRecordings read_recordings(const std::vector<std::string>& paths, const Selection& selection);

}  // namespace labelscope::cli
