// One table of a summary: a row for each value of a key, with its share, time, samples and a bar,
// and the functions of each value below it.
//
//   endpoint           share           time  samples
//   /checkout          62.1%   ±1.1   12.3s     1234  ████████▎
//       validate       40.2%            8.0s      799
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answer/summary.h"
#include "cli/answer/value_amounts.h"
#include "cli/answer/wait_lengths.h"
#include "cli/text/table_cells.h"

namespace labelscope::cli {

struct TableRow {
  std::string value;  // escaped
  Amount amount;
  bool ours = false;    // a remark of ours and not a value
  WaitLengths waits{};  // of waits for anything but a processor
  bool is_outside = false;  // of the whole
};

std::vector<TableRow> table_rows(Grouped&& grouped, std::size_t max_values, const WaitsOfKey& waits,
                                 const Profile& profile);

// Draws rows. If there are several kinds of time, each has a column behind the one of their sum. If
// waits were counted by length, two more columns have the median, and what 99 of 100 do not exceed.
class SummaryTable {
 public:
  // All must outlive this object.
  SummaryTable(const std::vector<TableRow>& rows, const LeafFunctions& functions,
               const Profile& profile, const SummaryStyle& style);

  using ErrorOf = std::function<double(const Amount&)>;
  void render(const std::string& title, const ErrorOf& error_of, std::ostream& out);

 private:
  void measure(const std::string& title);
  void render_head(const std::string& title, std::ostream& out) const;
  void render_row(std::size_t index, const ErrorOf& error_of, std::ostream& out) const;
  void render_functions(const TableRow& row, std::ostream& out) const;
  std::string value_cell(std::string_view text) const {
    return fitted(text, value_width_, style_);
  }
  std::string name_of(FrameTree::Name name) const;

  const std::vector<TableRow>& rows_;
  const LeafFunctions& functions_;
  const Profile& profile_;
  const SummaryStyle& style_;
  ShortNames names_;
  ValueType whole_value_;
  std::vector<std::size_t> kinds_;  // value types that have a column
  bool has_waits_;
  std::vector<std::uint64_t> times_;  // by row; 0 for what is outside of the whole
  std::vector<std::uint64_t> shares_;
  std::uint64_t whole_ = 0;
  std::string count_title_;
  std::size_t count_width_;
  std::size_t error_width_;
  std::size_t value_width_ = 0;
  std::size_t bar_width_ = 0;
};

}  // namespace labelscope::cli
