// The function, the inlined calls and the source line of an address, from DWARF.
//
// Units are indexed by their own ranges (.debug_aranges is optional and often missing). The
// functions of a unit are indexed when its first address is looked up.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/names/budget.h"
#include "cli/names/dwarf_names.h"
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
    Dwarf_Off die = 0;
  };
  struct Unit {
    std::vector<Range> functions;
    bool has_lines = false;  // and the budget allows them
  };
  // The ranges of a unit or function, sorted by start so that look-ups can stop early.
  static const Range* innermost(const std::vector<Range>& ranges, Address address);
  bool add_ranges(Dwarf_Die& die, std::vector<Range>& ranges);
  bool can_afford_lines(Dwarf_Die& unit_die);
  std::vector<Dwarf_Die> inlined_calls(Dwarf_Die function, Address address);
  bool add_functions(Dwarf_Die& parent, int depth, std::vector<Range>& functions);
  Unit& unit_at(Dwarf_Off die, Dwarf_Die& unit_die);

  Dwarf* dwarf_;
  Budget& budget_;
  std::span<const std::byte> line_section_;  // owned by dwarf_
  bool little_endian_ = true;
  std::vector<Range> units_;
  std::unordered_map<Dwarf_Off, Unit> indexed_;
  DwarfNames names_;
  bool has_skeletons_ = false;
};

}  // namespace labelscope::cli
