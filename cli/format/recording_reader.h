// Reads the profile from a file: a .jsonl recording (docs/schema/recording-format.md) or a pprof
// file, ours or another tool's, each of them also compressed.
//
// A recording is a file like any other: it may be cut short, damaged, or made by an attacker. What
// cannot be read is lost together with what refers to it, and all else is kept.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Of a file that begins as neither of both.
inline constexpr std::string_view kNeitherKind =
    "it does not begin as a recording of labelscope does, and as a pprof file it has no sample "
    "type: "
    "recordings (.jsonl) and pprof files are read";

struct ReadRecording {
  Profile profile;
  // What was in the recording but is not in the profile, and why; empty: all of it is there.
  std::vector<std::string> lost;
  // What a reader of the numbers should know.
  std::vector<std::string> notes;
};

// By what the file begins with, not by its name. `value`: which of a pprof file's values is wanted,
// "inuse_space" or "inuse_space/bytes"; empty: the one that choose_values() takes. kMalformed: it
// is no recording. kUnsupported: one of a later version, a file of another kind, or one without
// that value. kLimit: it is larger than any that is read. kSystem: `in` fails.
Result<ReadRecording> read_recording(std::istream& in, const std::string& value = {});

}  // namespace labelscope::cli
