// Finds functions and inlined calls by an index of each unit, and compares them with a walk over
// all entries by libdw, at the edges of every range; and reads entries that contradict themselves.
#include "cli/names/unit_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/names/debug_sections.h"
#include "labelscope/unique_fd.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// What libdw says about the entries of one unit.
class Walk {
 public:
  explicit Walk(Dwarf_Die unit) { add_functions(unit); }

  const std::vector<Dwarf_Addr>& edges() const { return edges_; }
  std::vector<Dwarf_Off> calls_to(Dwarf_Off function, Dwarf_Addr address, Dwarf* dwarf) const {
    std::vector<Dwarf_Off> calls;
    Dwarf_Die at;
    REQUIRE(dwarf_offdie(dwarf, function, &at) != nullptr);
    while (find_inner(at, address)) {
      if (dwarf_tag(&at) == DW_TAG_inlined_subroutine) calls.push_back(dwarf_dieoffset(&at));
    }
    return calls;
  }
  // Returns the smallest function that has the address; 0 if there is none.
  Dwarf_Off function_at(Dwarf_Addr address) const {
    Dwarf_Off found = 0;
    Dwarf_Addr latest = 0;
    for (const Function& each : functions_) {
      if (address < each.start || address >= each.end || each.start < latest) continue;
      latest = each.start;
      found = each.entry;
    }
    return found;
  }

 private:
  struct Function {
    Dwarf_Addr start;
    Dwarf_Addr end;
    Dwarf_Off entry;
  };

  static bool find_inner(Dwarf_Die& at, Dwarf_Addr address) {
    Dwarf_Die child;
    if (dwarf_child(&at, &child) != 0) return false;
    do {
      const int tag = dwarf_tag(&child);
      const bool part = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                        tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (!part || dwarf_haspc(&child, address) != 1) continue;
      at = child;
      return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
  }

  void add_functions(Dwarf_Die parent) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return;
    do {
      std::ptrdiff_t at = 0;
      Dwarf_Addr base = 0;
      Dwarf_Addr start = 0;
      Dwarf_Addr end = 0;
      while ((at = dwarf_ranges(&child, at, &base, &start, &end)) > 0) {
        if (start == 0 || start >= end) continue;
        if (dwarf_tag(&child) == DW_TAG_subprogram) {
          functions_.push_back({start, end, dwarf_dieoffset(&child)});
        }
        edges_.insert(edges_.end(), {start - 1, start, end - 1, end});
      }
      add_functions(child);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  std::vector<Function> functions_;
  std::vector<Dwarf_Addr> edges_;
};

UnitEntries entries_of(const std::vector<std::byte>& info, const std::vector<std::byte>& kinds,
                       Budget& budget) {
  UnitPlace place;
  place.end = info.size();
  place.version = 4;
  place.address_size = 8;
  place.offset_size = 4;
  return {info, kinds, place, budget};
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE(
    "unit_index: functions and inlined calls as libdw has them, at the edges of every range") {
  for (const char* file : {paths::kProbe, paths::kStaticProbe, "/proc/self/exe"}) {
    CAPTURE(file);
    const UniqueFd fd(::open(file, O_RDONLY | O_CLOEXEC));
    Dwarf* dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
    REQUIRE(dwarf != nullptr);
    const DebugSections sections(dwarf_getelf(dwarf));
    UnitPlace place;
    Dwarf_Off next = 0;
    std::size_t header = 0;
    std::size_t compared = 0;
    for (; compared < 20'000 &&
           dwarf_next_unit(dwarf, place.start, &next, &header, &place.version, &place.abbreviations,
                           &place.address_size, &place.offset_size, nullptr, nullptr) == 0;
         place.start = next) {
      place.die = place.start + header;
      place.end = next;
      Budget budget;
      const UnitIndex index({sections.info, sections.abbreviations, place, budget}, place, dwarf,
                            budget);
      Dwarf_Die unit;
      REQUIRE(dwarf_offdie(dwarf, place.die, &unit) != nullptr);
      const Walk walk(unit);
      for (std::size_t i = 0; i < walk.edges().size() && compared < 20'000; ++i, ++compared) {
        const Dwarf_Addr address = walk.edges()[i];
        CAPTURE(address);
        const UnitIndex::Function* function = index.function_at(address);
        const Dwarf_Off wanted = walk.function_at(address);
        REQUIRE((function == nullptr ? 0 : index.entry_of(*function)) == wanted);
        if (function == nullptr) continue;
        CHECK(index.calls_to(*function, address, budget) == walk.calls_to(wanted, address, dwarf));
      }
      CHECK(budget.left_out().empty());
    }
    CHECK(compared > 10);
    dwarf_end(dwarf);
  }
}

TEST_CASE("unit_entries: reading ends at what cannot be read") {
  Budget budget;
  UnitEntry entry;
  // Kind 1: a unit with children and a name; kind 2: a variable with a form that does not exist.
  const auto kinds = bytes({1, DW_TAG_compile_unit, 1, DW_AT_name, DW_FORM_string, 0, 0,  //
                            2, DW_TAG_variable, 0, DW_AT_name, 0x7f, 0, 0, 0});
  const auto whole = bytes({1, 'a', 0, 0});
  UnitEntries entries = entries_of(whole, kinds, budget);
  REQUIRE(entries.next(entry));
  CHECK(entry.tag == DW_TAG_compile_unit);
  REQUIRE(entries.next(entry));
  CHECK(entry.tag == 0);
  CHECK_FALSE(entries.next(entry));
  for (const auto& info : {bytes({1, 'a'}), bytes({2, 1}), bytes({3})}) {
    UnitEntries broken = entries_of(info, kinds, budget);
    CHECK_FALSE(broken.next(entry));
    CHECK_FALSE(broken.next(entry));
  }
  CHECK_FALSE(entries_of(whole, {}, budget).next(entry));
}

TEST_CASE("unit_entries: a sibling that leads backwards or out of the unit is not followed") {
  Budget budget;
  UnitEntry entry;
  const auto kinds = bytes({1, DW_TAG_class_type, 1, DW_AT_sibling, DW_FORM_ref1, 0, 0,  //
                            2, DW_TAG_member, 0, 0, 0, 0});
  for (const int sibling : {0, 1, 2, 200, 255}) {
    CAPTURE(sibling);
    const auto info = bytes({1, sibling, 2, 2, 0, 2, 0});
    UnitEntries entries = entries_of(info, kinds, budget);
    REQUIRE(entries.next(entry));
    REQUIRE(entries.skip_children(entry));
    CHECK(entries.offset() == 5);
  }
  const auto info = bytes({1, 5, 2, 2, 0, 2, 0});
  UnitEntries entries = entries_of(info, kinds, budget);
  REQUIRE(entries.next(entry));
  REQUIRE(entries.skip_children(entry));
  CHECK(entries.offset() == 5);
}

TEST_CASE("unit_entries: a budget that is spent ends the unit") {
  Budget::Limits limits;
  limits.most[static_cast<std::size_t>(Cost::kEntries)] = 3;
  Budget budget(limits);
  UnitEntry entry;
  const auto kinds = bytes({1, DW_TAG_member, 0, 0, 0, 0});
  const auto info = bytes({1, 1, 1, 1, 1, 1});
  CHECK_FALSE(entries_of(info, kinds, budget).next(entry));
  CHECK(budget.left_out().find("entries of debug information") != std::string::npos);
}

TEST_CASE("unit_entries: abbreviations without attributes are paid for, too") {
  Budget::Limits limits;
  limits.most[static_cast<std::size_t>(Cost::kEntries)] = 1000;
  Budget budget(limits);
  std::vector<std::byte> kinds;
  for (int i = 1; i <= 1001; ++i) {
    const auto kind = bytes({0x80 | (i & 0x7f), i >> 7, DW_TAG_member, 0, 0, 0});
    kinds.insert(kinds.end(), kind.begin(), kind.end());
  }
  const auto info = bytes({1, 1});
  UnitEntry entry;
  CHECK_FALSE(entries_of(info, kinds, budget).next(entry));
  CHECK(budget.left_out().find("entries of debug information") != std::string::npos);
}

TEST_CASE("debug_sections: memory of a file is told from other memory") {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Elf* read = elf_begin(fd.get(), (elf_version(EV_CURRENT), ELF_C_READ), nullptr);
  Elf* mapped = elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr);
  REQUIRE(read != nullptr);
  REQUIRE(mapped != nullptr);
  const auto of_mapped = DebugSections(mapped).info;
  CHECK(is_view_of_file(of_mapped));
  CHECK_FALSE(is_view_of_file(DebugSections(read).info));
  CHECK_FALSE(is_view_of_file({}));
  // What was let go is there again.
  const std::vector<std::byte> before(of_mapped.begin(), of_mapped.end());
  DebugSections(mapped).release_pages();
  CHECK(std::equal(before.begin(), before.end(), of_mapped.begin(), of_mapped.end()));
  elf_end(read);
  elf_end(mapped);
}
