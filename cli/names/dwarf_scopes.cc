// DWARF is foreign input: every walk goes forward only (so that it ends), has a depth limit (so
// that it fits on the stack) and pays for each step from the budget of the file (so that time and
// memory are bounded).
#include "cli/names/dwarf_scopes.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "cli/names/dwarf_names.h"
#include "cli/names/line_rows.h"

namespace labelscope::cli {
namespace {

// The depth of namespaces, classes and blocks around a function.
constexpr int kMaxDepth = 128;
// The depth of calls inlined into each other; optimized Rust reaches 40.
constexpr std::size_t kMaxInlineDepth = 128;
constexpr int kMaxNesting = 64;

int line_number(Dwarf_Word line) { return line > INT_MAX ? 0 : static_cast<int>(line); }

Dwarf_Word number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

bool may_hold_functions(int tag) {
  return is_named_scope(tag) || tag == DW_TAG_enumeration_type || tag == DW_TAG_lexical_block;
}

// Returns .debug_line as libdw sees it: libdw unpacks sections in place.
std::span<const std::byte> find_line_section(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf, names, header.sh_name);
    const std::string_view name = found == nullptr ? "" : found;
    if (name != ".debug_line" && name != ".zdebug_line") continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
  }
  return {};
}

}  // namespace

DwarfScopes::DwarfScopes(Dwarf* dwarf, Budget& budget)
    : dwarf_(dwarf), budget_(budget), names_(budget) {
  Elf* elf = dwarf_getelf(dwarf);
  line_section_ = find_line_section(elf);
  GElf_Ehdr elf_header;
  little_endian_ =
      gelf_getehdr(elf, &elf_header) == nullptr || elf_header.e_ident[EI_DATA] == ELFDATA2LSB;
  Dwarf_Off offset = 0;
  Dwarf_Off next = 0;
  std::size_t header_size = 0;
  while (dwarf_nextcu(dwarf, offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
    if (!budget_.spend(Cost::kEntries)) break;
    Dwarf_Die die;
    if (dwarf_offdie(dwarf, offset + header_size, &die) != nullptr) {
      if (dwarf_hasattr(&die, DW_AT_GNU_dwo_name) != 0 ||
          dwarf_hasattr(&die, DW_AT_dwo_name) != 0) {
        has_skeletons_ = true;
      }
      if (!add_ranges(die, units_)) break;
    }
    if (next <= offset) break;
    offset = next;
  }
  std::sort(units_.begin(), units_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
}

// Returns false if the budget is spent. An empty range costs as much as any other, because it is
// read as well.
bool DwarfScopes::add_ranges(Dwarf_Die& die, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
    if (!budget_.spend(Cost::kRanges)) return false;
    // Functions that the linker threw away keep a range at zero.
    if (start == 0 || start >= end) continue;
    ranges.push_back({start, end, dwarf_dieoffset(&die)});
  }
  return true;
}

const DwarfScopes::Range* DwarfScopes::innermost(const std::vector<Range>& ranges,
                                                 Address address) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](Address a, const Range& range) { return a < range.start; });
  for (int steps = 0; at != ranges.begin() && steps < kMaxNesting; ++steps) {
    --at;
    if (address < at->end) return &*at;
  }
  return nullptr;
}

// Returns false if the budget is spent.
bool DwarfScopes::add_functions(Dwarf_Die& parent, int depth, std::vector<Range>& functions) {
  Dwarf_Die child;
  if (depth == kMaxDepth || dwarf_child(&parent, &child) != 0) return true;
  do {
    if (!budget_.spend(Cost::kEntries)) return false;
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && !add_ranges(child, functions)) return false;
    if (may_hold_functions(tag) && !add_functions(child, depth + 1, functions)) return false;
  } while (next_sibling(child));
  return true;
}

// Returns whether libdw may be asked for a line or a file of this unit: it decodes all of them at
// once.
bool DwarfScopes::can_afford_lines(Dwarf_Die& unit_die) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_attr(&unit_die, DW_AT_stmt_list, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &offset) != 0) {
    return false;
  }
  return budget_.spend(Cost::kRows, count_line_rows(line_section_, offset, little_endian_));
}

// The inlined calls and blocks from `function` down to `address`, outermost first.
std::vector<Dwarf_Die> DwarfScopes::inlined_calls(Dwarf_Die function, Address address) {
  std::vector<Dwarf_Die> calls;
  Dwarf_Die parent = function;
  for (std::size_t depth = 0; depth < kMaxInlineDepth; ++depth) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return calls;
    bool found = false;
    do {
      if (!budget_.spend(Cost::kEntries)) return calls;
      int tag = dwarf_tag(&child);
      bool scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                   tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (!scope || dwarf_haspc(&child, address) != 1) continue;
      found = true;
      if (tag == DW_TAG_inlined_subroutine) calls.push_back(child);
    } while (!found && next_sibling(child));
    if (!found) return calls;
    parent = child;
  }
  return calls;
}

DwarfScopes::Unit& DwarfScopes::unit_at(Dwarf_Off die, Dwarf_Die& unit_die) {
  auto [found, fresh] = indexed_.try_emplace(die);
  if (fresh) {
    found->second.has_lines = can_afford_lines(unit_die);
    std::vector<Range>& functions = found->second.functions;
    add_functions(unit_die, 0, functions);
    std::sort(functions.begin(), functions.end(), [](const Range& a, const Range& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
  }
  return found->second;
}

std::vector<SourceLine> DwarfScopes::find(Address address, bool inlined) {
  const Range* range = innermost(units_, address);
  Dwarf_Die unit_die;
  if (range == nullptr || dwarf_offdie(dwarf_, range->die, &unit_die) == nullptr) return {};

  const Unit& unit = unit_at(range->die, unit_die);
  SourceLine here;
  Dwarf_Line* line = unit.has_lines ? dwarf_getsrc_die(&unit_die, address) : nullptr;
  if (line != nullptr) {
    int number_of_line = 0;
    here.file = dwarf_text(dwarf_linesrc(line, nullptr, nullptr));
    if (dwarf_lineno(line, &number_of_line) == 0) here.line = std::max(number_of_line, 0);
  }
  const Range* function = innermost(unit.functions, address);
  Dwarf_Die function_die;
  if (function == nullptr || dwarf_offdie(dwarf_, function->die, &function_die) == nullptr) {
    if (here.file.empty()) return {};
    return {std::move(here)};
  }

  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  if (!unit.has_lines || dwarf_getsrcfiles(&unit_die, &files, &file_count) != 0) file_count = 0;
  std::vector<Dwarf_Die> calls = inlined_calls(function_die, address);
  std::vector<SourceLine> lines;
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    names_.fill(*call, here);
    if (inlined) lines.push_back(std::move(here));
    here = SourceLine();
    Dwarf_Word file = number(*call, DW_AT_call_file);
    if (file < file_count) here.file = dwarf_text(dwarf_filesrc(files, file, nullptr, nullptr));
    here.line = line_number(number(*call, DW_AT_call_line));
  }
  names_.fill(function_die, here);
  lines.push_back(std::move(here));
  return lines;
}

}  // namespace labelscope::cli
