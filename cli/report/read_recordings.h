// Recordings from files: read, chosen from, added up. What is wrong with one is said here.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/answer/selection.h"
#include "cli/host/exit_status.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

struct ReadRecordings {
  std::optional<Profile> profile;  // empty: one could not be read, and `status` says why
  int status = kExitOk;          // of what was read: kExitRuntimeError if something of it was lost
  std::set<std::string> keys;    // that samples have, before any was left out
  std::vector<SeenValues> seen;  // by the conditions
};

// "-" is stdin. `value`: as read_recording().
ReadRecordings read_recordings(const std::vector<std::string>& paths, const Selection& selection,
                               const std::string& value);

// Whether its values are all 0, which a file of another tool may have: shares of nothing are none.
bool has_no_values(const Profile& profile);
// "its values are all 0: 12 entries of contentions"
std::string no_values_text(const Profile& profile);

// Why the selection leaves nothing of them: the condition that no sample meets, and the values that
// there are.
std::string why_none_is_left(const Selection& selection, const ReadRecordings& recordings);

}  // namespace labelscope::cli
