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

// The message about a file that begins as neither of the two.
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

// Finds the format by the first bytes, not by the name. `value` selects one of a pprof file's
// values, "inuse_space" or "inuse_space/bytes"; empty: the one that choose_values() takes. Fails
// with kMalformed if it is no recording; with kUnsupported if it is one of a later version, a file
// of another kind, or lacks that value; with kLimit if it is larger than this reads; and with
// kSystem if `in` fails.
Result<ReadRecording> read_recording(std::istream& in, const std::string& value = {});

}  // namespace labelscope::cli
