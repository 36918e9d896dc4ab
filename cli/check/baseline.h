// Findings that the user has accepted: those in a file that `check --format json` wrote before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"

namespace labelscope::cli {

struct BaselineEntry {
  std::string fingerprint;  // fingerprint.h
  std::string rule;         // "LS031"
  std::string subject;      // subject_key()
  std::string found;        // for people
};
using Baseline = std::vector<BaselineEntry>;

// kMalformed: not the output of check, or of an unknown version. kLimit: too large.
Result<Baseline> parse_baseline(std::string_view text);
// The same from a file; also the errors of opening and reading it.
Result<Baseline> read_baseline(const std::string& path);

}  // namespace labelscope::cli
