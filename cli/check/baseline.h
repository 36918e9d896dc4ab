// Findings that are known and accepted: those of a file that `check --format json` wrote before.
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

// kMalformed: no output of check, or of a version that is not known; kLimit: larger than any.
Result<Baseline> parse_baseline(std::string_view text);
// The same from a file, and whatever opening and reading it may give.
Result<Baseline> read_baseline(const std::string& path);

}  // namespace labelscope::cli
