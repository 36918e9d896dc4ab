// Reads line tables, and compares them with libdw's at every address of them, for the probe and for
// this test; and reads bytes that are no table.
#include "cli/names/line_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cli/names/debug_sections.h"
#include "cli/names/dwarf_names.h"
#include "labelscope/unique_fd.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string text_of(const char* text) { return text == nullptr ? std::string() : text; }

// libdw leaves paths that begin where the unit was compiled as they are.
std::string whole_path(const char* path, const std::string& folder) {
  const std::string text = text_of(path);
  return text.empty() || text.starts_with('/') || folder.empty() ? text : folder + "/" + text;
}

// Compares the lines of a unit at each address at which libdw has a row, and before and behind it.
// Returns how many were compared.
std::size_t compare_unit(Dwarf_Die& unit, const LineTable& table, const std::string& folder) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  std::size_t compared = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return 0;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Addr row = 0;
    REQUIRE(dwarf_lineaddr(dwarf_onesrcline(lines, i), &row) == 0);
    // Sequences of functions that the linker threw away begin at zero.
    if (row < 4096) continue;
    for (const Dwarf_Addr address : {row - 1, row, row + 1}) {
      Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
      const LineTable::Place* place = table.find(address);
      CAPTURE(address);
      REQUIRE((line == nullptr) == (place == nullptr));
      if (line == nullptr) continue;
      int number = 0;
      REQUIRE(dwarf_lineno(line, &number) == 0);
      CHECK(static_cast<int>(place->line) == number);
      CHECK(table.file(place->file) == whole_path(dwarf_linesrc(line, nullptr, nullptr), folder));
      ++compared;
    }
  }
  return compared;
}

// Compares the files by their numbers, which calls have.
void compare_files(Dwarf_Die& unit, const LineTable& table, const std::string& folder) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  REQUIRE(dwarf_getsrcfiles(&unit, &files, &count) == 0);
  for (std::size_t i = 1; i < count; ++i) {
    CHECK(table.file(i) == whole_path(dwarf_filesrc(files, i, nullptr, nullptr), folder));
  }
  CHECK(table.file(count).empty());
}

LineTable table_of(const std::vector<std::byte>& section, std::uint64_t offset = 0,
                   std::string_view folder = "/folder") {
  Budget budget;
  LineSections sections;
  sections.lines = section;
  return LineTable(sections, offset, folder, budget);
}

// Returns a table of version 4 with one file, "a", in the folder of its unit. Its special opcodes
// begin with 13, and each is one address further than the one before, in the same line.
std::vector<std::byte> version_4(std::initializer_list<int> program) {
  std::vector<std::byte> made = bytes({0, 0, 0, 0, 4, 0, 27, 0, 0, 0, 1, 1,   1, 0, 1, 13, 0, 1,
                                       1, 1, 1, 0, 0, 0, 1,  0, 0, 1, 0, 'a', 0, 0, 0, 0,  0});
  made[6] = static_cast<std::byte>(made.size() - 10);
  for (const int value : program) made.push_back(static_cast<std::byte>(value));
  made[0] = static_cast<std::byte>(made.size() - 4);
  return made;
}

}  // namespace

TEST_CASE("line_table: the lines and files of libdw, at each address of a library") {
  for (const char* file : {paths::kProbe, paths::kStaticProbe, "/proc/self/exe"}) {
    CAPTURE(file);
    const UniqueFd fd(::open(file, O_RDONLY | O_CLOEXEC));
    Dwarf* dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
    REQUIRE(dwarf != nullptr);
    const DebugSections sections(dwarf_getelf(dwarf));
    Dwarf_Off offset = 0;
    Dwarf_Off next = 0;
    std::size_t header = 0;
    std::size_t compared = 0;
    for (; dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0 &&
           compared < 200'000;
         offset = next) {
      Dwarf_Die die;
      Dwarf_Attribute attribute;
      Dwarf_Word at = 0;
      if (dwarf_offdie(dwarf, offset + header, &die) == nullptr ||
          dwarf_attr(&die, DW_AT_stmt_list, &attribute) == nullptr ||
          dwarf_formudata(&attribute, &at) != 0) {
        continue;
      }
      const std::string folder =
          text_of(dwarf_attr(&die, DW_AT_comp_dir, &attribute) == nullptr
                      ? nullptr
                      : dwarf_formstring(&attribute));
      Budget budget;
      const LineTable table(sections.lines, at, folder, budget);
      compared += compare_unit(die, table, folder);
      compare_files(die, table, folder);
    }
    CHECK(compared > 100);
    dwarf_end(dwarf);
  }
}

TEST_CASE("line_table: bytes that are no table have no lines") {
  CHECK(table_of({}).rows() == 0);
  CHECK(table_of(bytes({1, 2, 3}), 7).rows() == 0);
  CHECK(table_of(bytes({1, 2, 3})).rows() == 0);
  CHECK(table_of(bytes({100, 0, 0, 0, 4, 0, 255, 255, 255, 255, 1, 1, 1, 0, 1, 13})).rows() == 0);
  CHECK(table_of(bytes({100, 0, 0, 0, 9, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 13})).rows() == 0);
}

TEST_CASE("line_table: a sequence is used up to its end, and without one not at all") {
  // set_address 0x1000, copy, advance by special opcodes, end_sequence
  const auto whole = version_4({0, 9, 2, 0, 16, 0, 0, 0, 0, 0, 0, 1, 14, 2, 4, 0, 1, 1});
  const LineTable table = table_of(whole);
  REQUIRE(table.find(0x1000) != nullptr);
  CHECK(table.find(0xfff) == nullptr);
  CHECK(table.find(0x1004) != nullptr);
  CHECK(table.find(0x1005) == nullptr);
  CHECK(table.file(table.find(0x1000)->file) == "/folder/a");
  auto cut = whole;
  cut.resize(cut.size() - 3);
  CHECK(table_of(cut).rows() == 0);
}

// As in builds outside of the tree of sources.
TEST_CASE("line_table: folders that do not begin at the root begin where the unit was compiled") {
  const auto of = [](std::size_t header, std::vector<std::byte> made, std::string_view names) {
    for (const char c : names) made.push_back(static_cast<std::byte>(c));
    made[0] = static_cast<std::byte>(made.size() - 4);
    made[header - 4] = static_cast<std::byte>(made.size() - header);
    return made;
  };
  using namespace std::string_view_literals;
  SECTION("version 4: the unit says where it was compiled, and its table has the other folders") {
    const auto section = of(10, bytes({0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1, 1, 1, 0,
                                       1, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}),
                            "../src\0/abs\0\0"
                            "a\0\0\0\0b\0\1\0\0c\0\2\0\0/d\0\1\0\0\0"sv);
    const LineTable table = table_of(section, 0, "/w/build");
    CHECK(table.file(1) == "/w/build/a");
    CHECK(table.file(2) == "/w/build/../src/b");
    CHECK(table.file(3) == "/abs/c");
    CHECK(table.file(4) == "/d");
    CHECK(table_of(section, 0, "").file(2) == "../src/b");
  }
  SECTION("version 5: the table has all folders, the unit's first") {
    const auto section = of(12, bytes({0, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, 1, 1, 1, 0,
                                       1, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}),
                            "\1\1\x08\3/w/build\0../src\0/abs\0"
                            "\2\1\x08\2\x0f\4a\0\0b\0\1c\0\2/d\0\1"sv);
    const LineTable table = table_of(section, 0, "/elsewhere");
    CHECK(table.file(0) == "/w/build/a");
    CHECK(table.file(1) == "/w/build/../src/b");
    CHECK(table.file(2) == "/abs/c");
    CHECK(table.file(3) == "/d");
  }
}

// A longer one would not fit into a packet of the worker.
TEST_CASE("line_table: a path is cut where other text of DWARF is") {
  const auto section = version_4({0, 9, 2, 0, 16, 0, 0, 0, 0, 0, 0, 1, 14, 0, 1, 1});
  for (const std::size_t length : {kMaxDwarfText - 3, kMaxDwarfText, 3 * kMaxDwarfText}) {
    const std::string folder = "/" + std::string(length, 'x');
    CHECK(table_of(section, 0, folder).file(1) == (folder + "/a").substr(0, kMaxDwarfText));
  }
}

TEST_CASE("line_table: rows beyond the budget are left out, and the budget says so") {
  const auto section = version_4({0, 9, 2, 0, 16, 0, 0, 0, 0, 0, 0, 1, 14, 14, 14, 0, 1, 1,
                                  0, 9, 2, 0, 32, 0, 0, 0, 0, 0, 0, 1, 14, 14, 14, 0, 1, 1});
  LineSections sections;
  sections.lines = section;
  Budget::Limits limits;
  limits.rows_at_once = 3;
  Budget budget(limits);
  const LineTable table(sections, 0, "", budget);
  CHECK(table.find(0x1000) != nullptr);
  CHECK(table.find(0x2000) == nullptr);
  CHECK(budget.left_out().find("rows of line tables") != std::string::npos);
}
