// DWARF is foreign input: every walk goes forward only (so that it ends), has a depth limit (so
// that it fits on the stack) and pays for each step from the budget of the file (so that time and
// memory are bounded).
#include "cli/names/dwarf_scopes.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "cli/names/dwarf_names.h"

namespace labelscope::cli {
namespace {

constexpr int kMaxScopeNesting = 64;
// What is kept of units that were read. This is enough for a third of a program with a gigabyte of
// debug information, whatever the order of its addresses is.
constexpr std::size_t kMostKept = std::size_t{96} << 20;
// Pages of the file are let go after so much of it.
constexpr std::uint64_t kMostPages = std::uint64_t{48} << 20;

int line_number(Dwarf_Word line) { return line > INT_MAX ? 0 : static_cast<int>(line); }

Dwarf_Word number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

}  // namespace

DwarfScopes::DwarfScopes(Dwarf* dwarf, Budget& budget)
    : dwarf_(dwarf), budget_(budget), names_(budget) {
  Elf* elf = dwarf_getelf(dwarf);
  GElf_Ehdr elf_header;
  // Of the other byte order there are no targets, so only symbols are read.
  if (gelf_getehdr(elf, &elf_header) == nullptr || elf_header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return;
  }
  sections_ = DebugSections(elf);
  UnitPlace place;
  Dwarf_Off offset = 0;
  Dwarf_Off next = 0;
  std::size_t header_size = 0;
  Dwarf_Half version = 0;
  while (dwarf_next_unit(dwarf, offset, &next, &header_size, &version, &place.abbreviations,
                         &place.address_size, &place.offset_size, nullptr, nullptr) == 0) {
    if (!budget_.spend(Cost::kEntries)) break;
    Dwarf_Die die;
    place.version = version;
    place.start = offset;
    place.die = offset + header_size;
    place.end = next;
    if (dwarf_offdie(dwarf, place.die, &die) != nullptr) {
      if (dwarf_hasattr(&die, DW_AT_GNU_dwo_name) != 0 ||
          dwarf_hasattr(&die, DW_AT_dwo_name) != 0) {
        has_skeletons_ = true;
      }
      const auto unit = static_cast<std::uint32_t>(places_.size());
      places_.push_back(place);
      const bool all = for_each_range(die, budget_, [&](Address start, Address end) {
        units_.push_back({start, end, unit});
      });
      if (!all) break;
    }
    if (next <= offset) break;
    offset = next;
  }
  std::sort(units_.begin(), units_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  sections_.release_pages();
}

const DwarfScopes::Range* DwarfScopes::unit_range(Address address) const {
  auto at = std::upper_bound(units_.begin(), units_.end(), address,
                             [](Address a, const Range& range) { return a < range.start; });
  for (int steps = 0; at != units_.begin() && steps < kMaxScopeNesting; ++steps) {
    --at;
    if (address < at->end) return &*at;
  }
  return nullptr;
}

LineTable DwarfScopes::read_lines(Dwarf_Die& unit_die) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_attr(&unit_die, DW_AT_stmt_list, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &offset) != 0) {
    return {};
  }
  const char* folder = nullptr;
  if (dwarf_attr(&unit_die, DW_AT_comp_dir, &attribute) != nullptr) {
    folder = dwarf_formstring(&attribute);
  }
  return {sections_.lines, offset,
          folder == nullptr ? std::string_view()
                            : std::string_view(folder, strnlen(folder, kMaxDwarfText)),
          budget_};
}

// Drops the units that were not used for the longest time, until half of the memory is free.
void DwarfScopes::drop_units() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> oldest;
  for (const auto& [number, unit] : read_) oldest.emplace_back(unit.used, number);
  std::sort(oldest.begin(), oldest.end());
  for (const auto& [used, number] : oldest) {
    if (kept_bytes_ <= kMostKept / 2) break;
    const auto unit = read_.find(number);
    budget_.give_back(unit->second.spent);
    kept_bytes_ -= unit->second.bytes();
    read_.erase(unit);
  }
}

const DwarfScopes::Unit& DwarfScopes::unit_at(std::uint32_t number, Dwarf_Die& unit_die) {
  if (const auto known = read_.find(number); known != read_.end()) {
    known->second.used = ++uses_;
    return known->second;
  }
  if (kept_bytes_ > kMostKept) drop_units();
  const UnitPlace& place = places_[number];
  read_bytes_ += place.end - place.start;
  if (read_bytes_ > kMostPages) {
    sections_.release_pages();
    read_bytes_ = 0;
  }
  const Budget::Counts before = budget_.left();
  Unit& unit = read_[number];
  unit.used = ++uses_;
  unit.lines = read_lines(unit_die);
  unit.index =
      UnitIndex({sections_.info, sections_.abbreviations, place, budget_}, place, dwarf_, budget_);
  unit.spent = budget_.spent_since(before);
  kept_bytes_ += unit.bytes();
  return unit;
}

std::vector<SourceLine> DwarfScopes::find(Address address, bool inlined) {
  const Range* range = unit_range(address);
  Dwarf_Die unit_die;
  if (range == nullptr || dwarf_offdie(dwarf_, places_[range->unit].die, &unit_die) == nullptr) {
    return {};
  }
  const Unit& unit = unit_at(range->unit, unit_die);
  SourceLine here;
  if (const LineTable::Place* place = unit.lines.find(address)) {
    here.file = unit.lines.file(place->file);
    here.line = line_number(place->line);
  }
  const UnitIndex::Function* function = unit.index.function_at(address);
  Dwarf_Die die;
  if (function == nullptr ||
      dwarf_offdie(dwarf_, unit.index.entry_of(*function), &die) == nullptr) {
    if (here.file.empty()) return {};
    return {std::move(here)};
  }
  const std::vector<Dwarf_Off> calls = unit.index.calls_to(*function, address, budget_);
  std::vector<SourceLine> lines;
  Dwarf_Die call;
  for (auto at = calls.rbegin(); at != calls.rend(); ++at) {
    if (dwarf_offdie(dwarf_, *at, &call) == nullptr) continue;
    if (inlined) {
      names_.fill(call, unit.index, here);
      lines.push_back(std::move(here));
    }
    here = SourceLine();
    here.file = unit.lines.file(number(call, DW_AT_call_file));
    here.line = line_number(number(call, DW_AT_call_line));
  }
  names_.fill(die, unit.index, here);
  lines.push_back(std::move(here));
  return lines;
}

}  // namespace labelscope::cli
