// Tests the linkers' own procedure linkage tables. GNU ld describes its own, so the states that are
// read from the bytes can be compared with its description.
#include "unwind_table/plt_code.h"

#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "support/catch.h"
#include "unit/reader/elf_bytes.h"
#include "unwind_table/build_unwind_table.h"

using namespace labelscope;
using labelscope::test::fixture_path;

namespace {

struct Section {
  std::uint64_t address = 0;
  std::string bytes;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Finds the section by readelf, so as to be independent of our reader. It is empty if the file has
// none.
Section find_section(const std::string& path, const std::string& name) {
  const std::string command = "readelf --section-headers --wide '" + path + "'";
  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  REQUIRE(output != nullptr);
  Section found;
  char line[512];
  while (std::fgets(line, sizeof line, output.get()) != nullptr) {
    const std::string text(line);
    const std::size_t at = text.find("] " + name + " ");
    unsigned long address = 0;
    unsigned long offset = 0;
    unsigned long size = 0;
    if (at == std::string::npos ||
        std::sscanf(line + at + 2, "%*s %*s %lx %lx %lx", &address, &offset, &size) != 3) {
      continue;
    }
    found = {address, bytes_of(path).substr(offset, size)};
  }
  return found;
}

UnwindTable table_of(const std::string& path) {
  auto table = build_unwind_table(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  REQUIRE(table);
  return *std::move(table);
}

bool same(const ls_unwind_rule& left, const ls_unwind_rule& right) {
  return std::memcmp(&left, &right, sizeof left) == 0;
}

// Returns the CFA's distance from the stack pointer after this number of bytes of an entry.
int cfa_at(const ls_unwind_rule& rule, unsigned bytes) {
  if (rule.ra != LS_RA_AT_CFA || rule.ra_offset != -8) return -1;
  if (rule.cfa == LS_CFA_SP) return rule.cfa_offset;
  if (rule.cfa != LS_CFA_PLT) return -1;
  return rule.cfa_offset + (bytes >= static_cast<unsigned>(rule.operand) ? 8 : 0);
}

}  // namespace

TEST_CASE("PLT: the entries of GNU ld are seen as its call frame information describes them") {
  const std::string path = fixture_path("libplt_bfd.so");
  const Section plt = find_section(path, ".plt");
  const UnwindTable table = table_of(path);
  REQUIRE(plt.bytes.size() >= 64);
  for (std::size_t at = 16; at < plt.bytes.size(); at += 16) {
    CAPTURE(at);
    const std::uint64_t address = plt.address + at;
    const PltEntry entry =
        find_plt_entry(std::string_view(plt.bytes).substr(at), address, Machine::kX86_64);
    CHECK(entry.size == 16);
    REQUIRE(table.rule_at(address) != nullptr);
    CHECK(same(entry.rule, *table.rule_at(address)));
  }
}

TEST_CASE("PLT: every entry of lld and mold has its caller") {
  const std::string linker = GENERATE("lld", "lld_ibt", "mold");
  const std::string path = fixture_path("libplt_" + linker + ".so");
  CAPTURE(path);
  const UnwindTable table = table_of(path);
  const Section plt = find_section(path, ".plt");
  REQUIRE(plt.bytes.size() >= 64);
  const std::size_t header = linker == "mold" ? 32 : 16;
  for (std::size_t at = header; at < plt.bytes.size(); at += 16) {
    CAPTURE(at);
    const ls_unwind_rule* rule = table.rule_at(plt.address + at);
    REQUIRE(rule != nullptr);
    CHECK(cfa_at(*rule, 0) == 8);
    // The number of the function is pushed by an instruction of five bytes: 68 n n n n.
    const std::size_t push = plt.bytes.substr(at, 16).find('\x68');
    if (push == std::string::npos) continue;
    CHECK(cfa_at(*rule, static_cast<unsigned>(push)) == 8);
    CHECK(cfa_at(*rule, static_cast<unsigned>(push) + 5) == 16);
  }
  const Section bound = find_section(path, linker == "lld_ibt" ? ".plt.sec" : ".plt.got");
  for (std::size_t at = 0; at < bound.bytes.size(); at += 16) {
    REQUIRE(table.rule_at(bound.address + at) != nullptr);
    CHECK(cfa_at(*table.rule_at(bound.address + at), 0) == 8);
  }
  // The header is entered with one number on the stack by lld's entries, and by mold's with none.
  REQUIRE(table.rule_at(plt.address) != nullptr);
  CHECK(cfa_at(*table.rule_at(plt.address), 0) == (linker == "mold" ? 8 : 16));
  CHECK(cfa_at(*table.rule_at(plt.address), 6) == (linker == "mold" ? 16 : 24));
}

TEST_CASE("PLT: what only resembles an entry is none") {
  using namespace std::string_view_literals;
  constexpr auto kLazy = "\xff\x25\x2a\x22\0\0\x68\x01\0\0\0\xe9\xd0\xff\xff\xff"sv;
  CHECK(find_plt_entry(kLazy, 0x1000, Machine::kX86_64).size == 16);
  CHECK(find_plt_entry(kLazy, 0x1008, Machine::kX86_64).size == 0);  // states depend on the address
  for (std::size_t size = 0; size < kLazy.size(); ++size) {
    CHECK(find_plt_entry(kLazy.substr(0, size), 0x1000, Machine::kX86_64).size == 0);
  }
  CHECK(find_plt_entry(kLazy, 0x1000, Machine::kAarch64).size == 0);
}
