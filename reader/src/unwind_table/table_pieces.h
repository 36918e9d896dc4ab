// The rows of an unwind table while it is made: pieces of code, each up to the next one, with the
// rule for it. In the end they become pages of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "labelscope/result.h"
#include "unwind_table/build_unwind_table.h"
#include "unwind_table/frame_rules.h"

namespace labelscope {

inline constexpr std::uint64_t kUnwindPageBytes = 1ULL << LS_UNWIND_PAGE_BITS;

class TablePieces {
 public:
  TablePieces(std::size_t most_rows, std::size_t most_rules)
      : most_rows_(most_rows), rules_(most_rules) {}

  // Adds a piece behind the others. If two start at the same place, the later one is used. Fails
  // with kLimit if there are too many.
  Status put(std::uint64_t start, const ls_unwind_rule& rule);
  // Makes the pages of a table, up to `end`, and its rules.
  Status fill(UnwindTable& table, std::uint64_t end);

  std::size_t size() const { return pieces_.size(); }
  std::optional<std::uint64_t> last_start() const {
    return pieces_.empty() ? std::nullopt : std::optional(pieces_.back().start);
  }
  const std::vector<ls_unwind_rule>& rules() const { return rules_.rules(); }
  // Returns how many rows the page of this address has so far.
  std::size_t rows_in_page(std::uint64_t address) const;

 private:
  struct Piece {
    std::uint64_t start;
    std::uint32_t rule;
  };
  Status add_page(UnwindTable& table, std::uint64_t start,
                  std::vector<Piece>::const_iterator& next);

  std::size_t most_rows_;
  RuleDictionary rules_;
  std::vector<Piece> pieces_;
};

}  // namespace labelscope
