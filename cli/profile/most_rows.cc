#include "cli/profile/most_rows.h"

#include <algorithm>

#include "cli/profile/blame.h"
#include "cli/profile/merge.h"

namespace labelscope::cli {
namespace {

// Puts the `most` rows with most time first.
template <class Row>
void largest_first(std::vector<Row>& rows, std::size_t most) {
  if (most >= rows.size()) return;
  std::ranges::nth_element(rows, rows.begin() + static_cast<std::ptrdiff_t>(most),
                           std::ranges::greater(), &Row::time_ns);
}

bool is_one_of_many(const BlameRow& row) {
  return is_blamed_thread(row.by.kind) || row.by.kind == LS_BLAME_PROCESS;
}

}  // namespace

std::uint64_t keep_largest(std::vector<WaitRow>& rows, std::size_t most, UnknownWaits& unknown,
                           const WithoutLost& without_lost) {
  merge_equal_waits(rows);
  std::uint64_t left_out = 0;
  if (without_lost && rows.size() > most) {
    const std::size_t own = most / 2;
    largest_first(rows, own);
    for (std::size_t i = own; i < rows.size(); ++i)
      rows[i].label_set = without_lost(rows[i].label_set);
    merge_equal_waits(rows);
  }
  largest_first(rows, most);
  for (std::size_t i = most; i < rows.size(); ++i) {
    unknown.of_others[rows[i].value] += rows[i].time_ns;
    left_out += rows[i].count;
  }
  rows.resize(std::min(most, rows.size()));
  return left_out;
}

std::uint64_t keep_largest(std::vector<BlameRow>& rows, std::size_t most) {
  merge_equal_blame(rows);
  if (rows.size() <= most) return 0;
  std::uint64_t left_out = 0;
  const std::size_t own = most / 2;
  largest_first(rows, own);
  for (std::size_t i = own; i < rows.size(); ++i) {
    if (!is_one_of_many(rows[i])) continue;
    left_out += rows[i].count;
    rows[i].by = {};
    rows[i].by.kind = LS_BLAME_MANY;
  }
  merge_equal_blame(rows);
  largest_first(rows, most);
  for (std::size_t i = most; i < rows.size(); ++i) {
    if (rows[i].by.kind != LS_BLAME_MANY) left_out += rows[i].count;
  }
  rows.resize(std::min(most, rows.size()));
  return left_out;
}

}  // namespace labelscope::cli
