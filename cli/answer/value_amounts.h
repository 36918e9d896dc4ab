// What the samples with each value of a label add up to: the numbers of a summary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/leaf_functions.h"
#include "cli/format/common/row_labels.h"
#include "cli/profile/idle.h"
#include "cli/profile/profile.h"
#include "cli/text/shares.h"

namespace labelscope::cli {

// What all samples with one value add up to.
struct Amount {
  std::uint64_t count = 0;
  std::uint64_t weight_ns = 0;
  std::map<Index, std::uint64_t> by_account;  // the weight by thread account
  // the weight by value type (Profile::values)
  std::array<std::uint64_t, kMostValueTypes> by_value{};
  struct Part {
    std::uint64_t count = 0;
    std::uint64_t weight_ns = 0;
  };
  std::map<FrameTree::Name, Part> by_function;

  void add(const SampleRow& row, Index account, FrameTree::Name function) {
    count += row.count;
    weight_ns += row.weight_ns;
    by_account[account] += row.weight_ns;
    by_value[row.value] += row.weight_ns;
    Part& part = by_function[function];
    part.count += row.count;
    part.weight_ns += row.weight_ns;
  }
  // Waits that were not sampled have a time, and no samples.
  bool is_nothing() const { return count == 0 && weight_ns == 0; }
  // Leaves functions out: they are only shown for single values.
  void add(const Amount& other) {
    count += other.count;
    weight_ns += other.weight_ns;
    for (const auto& [account, part] : other.by_account) by_account[account] += part;
    for (std::size_t i = 0; i < by_value.size(); ++i) by_value[i] += other.by_value[i];
  }
};

// A key of the summary: each value with its samples, and the samples that have no value.
struct Grouped {
  std::vector<std::pair<std::string, Amount>> values;  // the one with most time first
  Amount without;
  Amount unreadable;
  Amount idle;  // waits for work, which are no part of any share
};

// Sorts values and keys: the one with more time first.
inline constexpr auto kMoreTime = [](const auto& a, const auto& b) {
  return a.second.weight_ns > b.second.weight_ns;
};

using TopFunctions = std::vector<std::pair<FrameTree::Name, Amount::Part>>;
// Returns the functions with most time, the largest first.
TopFunctions top_functions(const Amount& amount, std::size_t most);

Grouped group_by_value(const RowLabels& labels, LeafFunctions& functions,
                       const std::vector<SampleRow>& rows, std::string_view key,
                       const IdleRows& idle);

// Returns the errors of shares of these rows.
ShareError errors_of(const std::vector<SampleRow>& rows, const RowLabels& labels,
                     const IdleRows& idle);

}  // namespace labelscope::cli
