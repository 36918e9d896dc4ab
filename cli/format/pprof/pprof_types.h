// Chooses which of a pprof file's values is read. Each sample has several: two in CPU profiles, a
// number and a time; four in heap profiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/profile/value_types.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct ChosenValues {
  std::size_t weight = 0;              // index of the sample type that the profile is about
  std::optional<std::size_t> samples;  // index of the one that counts samples
  bool shares_count = false;           // true if that also counts samples of other kinds of time
  std::uint64_t scale = 1;             // factor to nanoseconds
  ValueType value;
  // The other kinds of time of a recording that has several; they are nanoseconds, too.
  std::vector<std::pair<std::size_t, ValueType>> more;
  std::string counted;  // Profile::counted
  std::string note;     // text for people; empty if there was no choice
};

// Chooses `wanted`, which is a type, or a type and its unit: "inuse_space", "inuse_space/bytes". If
// it is empty: CPU time if there is some, else what the file names (`default_type`), else the last
// one. `period` of `period_type` is the time between two samples; 0: the file does not say. Fails
// with kUnsupported if there is no such value.
Result<ChosenValues> choose_values(const std::vector<ValueType>& types, const std::string& wanted,
                                   const std::string& default_type, const ValueType& period_type,
                                   std::uint64_t period);

// Returns the nanoseconds in a unit of time; 0: it is no unit of time.
std::uint64_t nanoseconds_in(const std::string& unit);

}  // namespace labelscope::cli
