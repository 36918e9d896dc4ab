// Back from a file to the profile that was written: a .jsonl recording
// (docs/schema/recording-format.md) or a pprof file, ours or another tool's, each of them also compressed.
//
// A recording is a file like any other: it may be cut short, damaged, or made by somebody with bad
// intentions. What cannot be read costs itself, and what refers to it.
#pragma once

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
  // What somebody should know who looks at the numbers.
  std::vector<std::string> notes;
};

// By what the file begins with, not by its name. kMalformed: it is no recording. kUnsupported: one
// of a later version. kLimit: it is larger than any that is read. kSystem: `in` fails.
Result<ReadRecording> read_recording(std::istream& in);

}  // namespace labelscope::cli
