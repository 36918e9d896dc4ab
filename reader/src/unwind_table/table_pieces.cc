#include "unwind_table/table_pieces.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace labelscope {
namespace {

Error too_many(const std::string& what) { return {ErrorCode::kLimit, what}; }

}  // namespace

std::size_t TablePieces::rows_in_page(std::uint64_t address) const {
  const std::uint64_t page = address & ~(kUnwindPageBytes - 1);
  const auto first = std::ranges::lower_bound(pieces_, page, {}, &Piece::start);
  const auto rows = static_cast<std::size_t>(pieces_.end() - first);
  return std::min<std::size_t>(rows + 1, LS_UNWIND_BLOCK_ROWS);  // the first one repeats a rule
}

Status TablePieces::put(std::uint64_t start, const ls_unwind_rule& rule) {
  auto number = rules_.number_of(rule);
  if (!number) return std::move(number).error();
  while (!pieces_.empty() && pieces_.back().start >= start) pieces_.pop_back();
  if (!pieces_.empty() && pieces_.back().rule == *number) return {};
  if (pieces_.size() >= most_rows_) {
    return too_many("its call frame information has more than " + std::to_string(most_rows_) +
                 " rows");
  }
  pieces_.push_back({start, *number});
  return {};
}

Status TablePieces::fill(UnwindTable& table, std::uint64_t end) {
  auto next = pieces_.cbegin();
  table.pages.reserve(static_cast<std::size_t>((end - table.text) / kUnwindPageBytes) + 1);
  table.rows.reserve(pieces_.size() + table.pages.capacity());
  for (std::uint64_t page = table.text; page < end; page += kUnwindPageBytes) {
    if (Status status = add_page(table, page, next); !status) return status;
  }
  table.rules = rules_.take();
  return {};
}

Status TablePieces::add_page(UnwindTable& table, std::uint64_t start,
                             std::vector<Piece>::const_iterator& next) {
  ls_unwind_rows page{};
  page.first = static_cast<std::uint32_t>(table.rows.size());
  auto add = [&](std::uint64_t offset, std::uint32_t rule) {
    table.rows.push_back(LS_UNWIND_ROW(offset, rule));
  };
  if (next == pieces_.cend() || next->start > start) {
    auto before = rules_.number_of(rule_of_kind(LS_CFA_GAP));
    if (!before) return std::move(before).error();
    add(0, next == pieces_.cbegin() ? *before : std::prev(next)->rule);
  }
  for (; next != pieces_.cend() && next->start < start + kUnwindPageBytes; ++next) {
    if (table.rows.size() - page.first == LS_UNWIND_BLOCK_ROWS) {
      return too_many("64 KiB of its code have more than " + std::to_string(LS_UNWIND_BLOCK_ROWS) +
                   " rows");
    }
    add(next->start - start, next->rule);
  }
  page.count = static_cast<std::uint32_t>(table.rows.size()) - page.first;
  table.pages.push_back(page);
  return {};
}

}  // namespace labelscope
