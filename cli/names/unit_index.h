// The functions of one unit, and the calls inlined into them, by address: what finding the names of
// many addresses needs, from one pass over the unit's entries.
//
//   entries                           scopes (those that have code)
//   namespace                         0  work()         ranges, next 4
//     subprogram work()               1    block        ranges, next 3
//       block                         2      call       ranges, next 3
//         inlined_subroutine          3    call         ranges, next 4
//       inlined_subroutine            4  rest()         ...
//     subprogram rest()
//
// The children of a scope follow it, and `next` is the first scope behind them. So one goes down to
// an address without a pointer for each child.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/names/budget.h"
#include "cli/names/unit_entries.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// Calls add(start, end) with each range of an entry. Returns false if the budget is spent. An empty
// range costs as much as any other, because it is read as well.
template <class Add>
bool for_each_range(Dwarf_Die& die, Budget& budget, Add add) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
    if (!budget.spend(Cost::kRanges)) return false;
    // Functions that the linker threw away keep a range at zero.
    if (start != 0 && start < end) add(Address{start}, Address{end});
  }
  return true;
}

class UnitIndex {
 public:
  UnitIndex() = default;
  // Reads the unit. libdw is asked for ranges that are in lists.
  UnitIndex(UnitEntries entries, const UnitPlace& place, Dwarf* dwarf, Budget& budget);

  struct Function {
    Address start = 0;
    Address end = 0;
    std::uint32_t scope = 0;
  };
  // Returns the innermost function at an address; null if there is none.
  const Function* function_at(Address address) const;
  // Returns the offset of its entry.
  Dwarf_Off entry_of(const Function& function) const;
  // Returns the inlined calls from a function down to an address, outermost first.
  std::vector<Dwarf_Off> calls_to(const Function& function, Address address, Budget& budget) const;
  // Returns the namespaces, classes and functions around an entry of this unit, outermost first.
  std::vector<Dwarf_Off> around(Dwarf_Off entry) const;
  // Returns how much memory it needs.
  std::size_t bytes() const;

 private:
  struct Scope {
    std::uint32_t entry = 0;  // relative to the unit
    std::uint32_t next = 0;
    std::uint32_t first_range = 0;
    std::uint16_t ranges = 0;
    bool is_call = false;
    bool is_function = false;
  };
  struct Range {
    Address start = 0;
    Address end = 0;
  };
  struct Named {
    std::uint32_t entry = 0;  // relative to the unit, as the end
    std::uint32_t end = 0;
    std::uint32_t parent = 0;
  };
  class Reader;

  Dwarf_Off start_ = 0;
  std::vector<Function> functions_;  // sorted, so that look-ups can stop early
  std::vector<Scope> scopes_;
  std::vector<Range> ranges_;
  std::vector<Named> named_;
};

}  // namespace labelscope::cli
