// The function, the inlined calls and the source line of an address, from DWARF.
//
// Units are found by their own ranges (.debug_aranges is optional and often missing). The functions
// and lines of a unit are read when its first address is looked up. When much of the kind is there,
// what was used last is kept. So addresses that come sorted need each unit once.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cli/names/budget.h"
#include "cli/names/debug_sections.h"
#include "cli/names/dwarf_names.h"
#include "cli/names/line_table.h"
#include "cli/names/unit_index.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class DwarfScopes {
 public:
  // Nothing is found beyond what `budget` allows.
  DwarfScopes(Dwarf* dwarf, Budget& budget);

  // Returns functions, innermost first; empty if no unit covers `address`. Names are as DwarfNames
  // fills them, and empty if DWARF has none. Without `inlined` it returns only the outermost
  // function.
  std::vector<SourceLine> find(Address address, bool inlined);

  // True if units are only skeletons: their functions are in .dwo files, which are not opened.
  bool has_skeletons() const { return has_skeletons_; }

 private:
  struct Range {
    Address start = 0;
    Address end = 0;
    std::uint32_t unit = 0;
  };
  struct Unit {
    UnitIndex index;
    LineTable lines;
    Budget::Counts spent{};
    std::uint64_t used = 0;  // when it was used last, by counting
    std::size_t bytes() const { return index.bytes() + lines.bytes(); }
  };
  const Range* unit_range(Address address) const;
  void add_unit(Dwarf_CU* cu, Dwarf_Die& die, const UnitPlace& place);
  LineTable read_lines(Dwarf_Die& unit_die);
  const Unit& unit_at(std::uint32_t number, Dwarf_Die& unit_die);
  void drop_units();

  Dwarf* dwarf_;
  Budget& budget_;
  DebugSections sections_;
  std::vector<UnitPlace> places_;
  std::vector<Range> units_;  // sorted
  std::unordered_map<std::uint32_t, Unit> read_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t read_bytes_ = 0;  // of .debug_info, since pages were let go
  DwarfNames names_;
  bool has_skeletons_ = false;
};

}  // namespace labelscope::cli
