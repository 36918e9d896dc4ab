// Back from a .jsonl recording (docs/recording-format.md) to the profile that was written.
//
// A recording is a file like any other: it may be cut short, damaged, or made by somebody with bad
// intentions. A line that cannot be read costs itself, and what refers to it: lines are numbered, so
// the others keep their places.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct ReadRecording {
  Profile profile;
  // What is not in the profile although it was in the recording, and why; empty: all of it is there.
  std::vector<std::string> lost;
};

// kMalformed: it is no recording. kUnsupported: one of a later version. kSystem: `in` fails.
Result<ReadRecording> read_jsonl(std::istream& in);

// The ledger of the profile's rows, for profiles of which nobody counted what was taken.
Ledger ledger_of_rows(const Profile& profile);

}  // namespace labelscope::cli
