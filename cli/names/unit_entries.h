// Reads the entries of one unit of .debug_info, one after the other: what each is, where its code
// is, and where its next sibling begins.
//
// libdw can do that as well, but it looks up each entry's abbreviation under a lock, and goes over
// its attributes one call at a time. A program with a gigabyte of debug information has 75 million
// entries, of which nearly all are only skipped. So an abbreviation becomes a list of steps here:
//
//   DW_TAG_variable   name strp, file data1, line data2, type ref4    -->   skip 11
//   DW_TAG_subprogram external flag_present, name strp, ...,          -->   skip 11, low, high,
//                     low_pc addr, high_pc data8, frame_base exprloc        skip a block
//
// What an entry is called, and ranges in lists, are left to libdw. Source: DWARF 5, section 7.5.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/names/budget.h"
#include "cli/names/debug_bytes.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// Where a unit is in .debug_info, and the sizes that its forms have.
struct UnitPlace {
  Dwarf_Off start = 0;  // its header, from which references count
  Dwarf_Off die = 0;    // its first entry
  Dwarf_Off end = 0;
  Dwarf_Off abbreviations = 0;
  std::uint16_t version = 0;
  std::uint8_t address_size = 0;
  std::uint8_t offset_size = 0;
};

// An entry's code is from `start` to `end`, unless both are 0.
struct UnitEntry {
  Dwarf_Off offset = 0;
  unsigned tag = 0;  // 0: the end of a list of siblings
  bool has_children = false;
  bool has_list = false;  // libdw must be asked for its ranges
  Dwarf_Off sibling = 0;  // 0 if it does not say
  Address start = 0;
  Address end = 0;
};

class UnitEntries {
 public:
  // Nothing is read beyond what `budget` allows. The sections are little-endian.
  UnitEntries(std::span<const std::byte> info, std::span<const std::byte> abbreviations,
              const UnitPlace& place, Budget& budget);

  // Reads the next entry. Returns false at the end of the unit, after what cannot be read, and if
  // the budget is spent.
  bool next(UnitEntry& entry);
  // Goes on behind the children of `entry`, which was read last.
  bool skip_children(const UnitEntry& entry);
  // Returns where the next entry is.
  Dwarf_Off offset() const { return place_.end - left_.size(); }

 private:
  enum class Way : std::uint8_t {
    kFixed,
    kLeb,
    kText,
    kBlock1,
    kBlock2,
    kBlock4,
    kBlock,
    kIndirect
  };
  enum class What : std::uint8_t { kNothing, kSibling, kStart, kSize, kEnd, kList };
  struct Step {
    Way way = Way::kFixed;
    What what = What::kNothing;
    std::uint32_t size = 0;  // of kFixed
  };
  struct Kind {
    unsigned tag = 0;
    bool has_children = false;
    std::uint32_t first_step = 0;
    std::uint32_t steps = 0;
  };
  void read_kinds(std::span<const std::byte> bytes);
  bool add_step(std::uint64_t name, std::uint64_t form);
  std::optional<std::uint32_t> size_of(std::uint64_t form) const;
  static std::optional<Way> way_of(std::uint64_t form);
  bool step_of(std::uint64_t form, Step& step) const;
  const Kind* kind_of(std::uint64_t code) const;
  bool take(const Step& step, UnitEntry& entry, std::uint64_t& size);
  bool skip(std::uint64_t size);
  std::uint64_t number(std::size_t size);

  bool pay();
  bool jump_behind(const UnitEntry& entry);

  Budget& budget_;
  UnitPlace place_;
  unsigned paid_ = 0;         // so many entries are paid for already
  std::size_t joinable_ = 0;  // as many steps if the last one may grow
  DebugBytes left_{{}};       // of the unit
  std::vector<Step> steps_;
  // Compilers number abbreviations from 1 on; others are in the map.
  std::vector<Kind> kinds_;
  std::unordered_map<std::uint64_t, Kind> other_kinds_;
};

}  // namespace labelscope::cli
