// The parts of a pprof file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <protozero/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/text/escape.h"

namespace labelscope::cli {

// Keys of labels that are ours begin with this.
constexpr std::string_view kOwnPrefix = "labelscope.";

// Field numbers of profile.proto, the pprof format: github.com/google/pprof, proto/profile.proto.
enum class ProfileField : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};

enum class ValueTypeField : protozero::pbf_tag_type { kType = 1, kUnit = 2 };

enum class SampleField : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };

enum class LabelField : protozero::pbf_tag_type { kKey = 1, kStr = 2, kNum = 3, kNumUnit = 4 };

enum class MappingField : protozero::pbf_tag_type {
  kId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFileOffset = 4,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};

enum class LocationField : protozero::pbf_tag_type {
  kId = 1,
  kMappingId = 2,
  kAddress = 3,
  kLine = 4,
};

enum class LineField : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };

enum class FunctionField : protozero::pbf_tag_type {
  kId = 1,
  kName = 2,
  kSystemName = 3,
  kFilename = 4,
};

// Every number in pprof, and in OTLP, is an int64. A larger number becomes the largest int64, not a
// negative one.
inline std::int64_t to_int64(std::uint64_t value) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return value > static_cast<std::uint64_t>(kLargest) ? kLargest : static_cast<std::int64_t>(value);
}

// The string table of a pprof file, in which every string has a number and occurs once. Number 0 is
// the empty string, which pprof takes for "not set".
class PprofStrings {
 public:
  PprofStrings() { intern(""); }

  // Escapes bytes that are not UTF-8: one such byte makes strict decoders refuse the whole file.
  // Escapes control characters, too: pprof prints what it finds to the terminal.
  std::int64_t intern(std::string_view bytes) {
    return is_printable_ascii(bytes) ? intern_text(bytes) : intern_text(escape_terminal(bytes));
  }

  const std::vector<std::string>& in_order() const { return in_order_; }

 private:
  std::int64_t intern_text(std::string_view text) {
    const auto next = static_cast<Index>(in_order_.size());
    const Index number = numbers_.find_or_insert(
        hash_of_bytes(text), next, [&](Index index) { return in_order_[index] == text; },
        [&](Index index) { return hash_of_bytes(in_order_[index]); });
    if (number == next) in_order_.emplace_back(text);
    return number;
  }

  std::vector<std::string> in_order_;
  IndexTable numbers_;
};

}  // namespace labelscope::cli
