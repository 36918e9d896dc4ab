// Counts rows of line tables without making them, and compares the count with libdw's for the
// probe, and for bytes that are no table.
#include "cli/names/line_rows.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>

#include <cstring>
#include <vector>

#include "labelscope/unique_fd.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

std::span<const std::byte> line_section(Elf* elf) {
  std::size_t names = 0;
  REQUIRE(elf_getshdrstrndx(elf, &names) == 0);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(section, &header) != nullptr);
    if (std::strcmp(elf_strptr(elf, names, header.sh_name), ".debug_line") != 0) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
  }
  return {};
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("line_rows: as many as libdw makes, in each unit of a library") {
  for (const char* file : {paths::kProbe, paths::kStaticProbe}) {
    const UniqueFd fd(::open(file, O_RDONLY | O_CLOEXEC));
    Dwarf* dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
    REQUIRE(dwarf != nullptr);
    const std::span<const std::byte> section = line_section(dwarf_getelf(dwarf));
    Dwarf_Off offset = 0;
    Dwarf_Off next = 0;
    std::size_t header = 0;
    std::size_t units = 0;
    for (; dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0;
         offset = next) {
      Dwarf_Die die;
      Dwarf_Attribute attribute;
      Dwarf_Word table = 0;
      Dwarf_Lines* lines = nullptr;
      std::size_t count = 0;
      if (dwarf_offdie(dwarf, offset + header, &die) == nullptr ||
          dwarf_attr(&die, 0x10 /* DW_AT_stmt_list */, &attribute) == nullptr ||
          dwarf_formudata(&attribute, &table) != 0 ||
          dwarf_getsrclines(&die, &lines, &count) != 0) {
        continue;
      }
      CHECK(count_line_rows(section, table, true) == count);
      ++units;
    }
    CHECK(units > 0);
    dwarf_end(dwarf);
  }
}

TEST_CASE("line_rows: tables that lie about their sizes end where their bytes end") {
  CHECK(count_line_rows({}, 0, true) == 0);
  CHECK(count_line_rows(bytes({1, 2, 3}), 7, true) == 0);
  // The header has 4 GiB, the extended operation 2^63 bytes, or the operands do not end.
  CHECK(count_line_rows(bytes({100, 0, 0, 0, 4, 0, 255, 255, 255, 255, 1, 1, 1, 0, 1, 13}), 0,
                        true) == 0);
  const auto table = [](std::initializer_list<int> program) {
    std::vector<std::byte> all = bytes({255, 255, 255, 15, 4, 0, 7, 0, 0, 0, 1, 1, 1, 0, 1, 2});
    for (const int value : program) all.push_back(static_cast<std::byte>(value));
    return all;
  };
  // The first special opcode is 2. There is one standard opcode, whose number of operands comes
  // first here.
  CHECK(count_line_rows(table({0, 9, 9, 9}), 0, true) == 3);
  CHECK(count_line_rows(table({0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 127, 9}), 0, true) ==
        0);
  CHECK(count_line_rows(table({255, 1, 128, 128, 128}), 0, true) == 1);
}

TEST_CASE("line_rows: of the other byte order, as many as there could be") {
  const std::vector<std::byte> table(50);
  CHECK(count_line_rows(table, 10, false) == 40);
}
