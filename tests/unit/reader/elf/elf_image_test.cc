// ElfImage over well-formed files: files made from text, of which every number is known, and files
// compiled by this machine's tools.
#include "elf/elf_image.h"

#include <elf.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr const char* kSet = "custom_labels_current_set";
constexpr const char* kVersion = "custom_labels_abi_version";

// Checks what testdata/elf/publisher.yaml says, for any processor and hash table.
void check_publisher(const ElfImage& image) {
  auto version = image.find_dynamic_symbol(kVersion);
  REQUIRE(version);
  REQUIRE(*version);
  CHECK((*version)->value == 0x500);
  CHECK((*version)->size == 4);
  CHECK((*version)->type == STT_OBJECT);
  CHECK((*version)->binding == STB_GLOBAL);
  CHECK((*version)->index == 1);
  CHECK((*version)->defined);
  auto set = image.find_dynamic_symbol(kSet);
  REQUIRE(set);
  REQUIRE(*set);
  CHECK((*set)->value == 0x18);
  CHECK((*set)->type == STT_TLS);
  CHECK((*set)->index == 3);
  auto none = image.find_dynamic_symbol("custom_labels");
  REQUIRE(none);
  CHECK_FALSE(*none);
}

void check_relocations(const ElfImage& image) {
  auto found = image.tls_relocations(kSet);
  REQUIRE(found);
  REQUIRE(found->size() == 4);
  CHECK((*found)[0].kind == TlsRelocationKind::kDtpMod);
  CHECK((*found)[0].slot == 0x900);
  CHECK((*found)[0].by_name);
  CHECK((*found)[1].kind == TlsRelocationKind::kTpOff);
  CHECK((*found)[1].slot == 0x910);
  CHECK((*found)[2].kind == TlsRelocationKind::kTlsDesc);
  CHECK((*found)[2].slot == 0x928);
  CHECK((*found)[2].addend == 0x18);
  CHECK_FALSE((*found)[2].by_name);
  CHECK((*found)[3].slot == 0x938);
  CHECK((*found)[3].by_name);
}

bool has_symbol(const ElfImage& image, const char* name) {
  auto found = image.find_dynamic_symbol(name);
  REQUIRE(found);
  return found->has_value();
}

// Returns how often this process has called read(2) and its like.
std::optional<std::uint64_t> count_of_reads() {
  std::ifstream io("/proc/self/io");
  std::string word;
  std::uint64_t number = 0;
  while (io >> word >> number) {
    if (word == "syscr:") return number;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("elf_image: segments of an x86-64 library are reported as the file has them") {
  const ElfImage image = require_image(elf_from_yaml("publisher"));
  CHECK(image.machine() == Machine::kX86_64);
  CHECK(image.position_independent());
  REQUIRE(image.load_segments().size() == 1);
  CHECK(image.load_segments().front().memory_size == 0x1000);
  CHECK(image.load_segments().front().executable);
  REQUIRE(image.tls());
  CHECK(image.tls()->vaddr == 0x1000);
  CHECK(image.tls()->memory_size == 0x20);
  CHECK(image.tls()->alignment == 0x40);
  CHECK(image.dynamic_address() == 0x800U);
  CHECK(image.program_headers_address() == sizeof(Elf64_Ehdr));
}

TEST_CASE("elf_image: an executable at fixed addresses is no position-independent one") {
  CHECK_FALSE(require_image(elf_from_yaml("publisher", {"TYPE=ET_EXEC"})).position_independent());
}

TEST_CASE("elf_image: symbols are found by GNU hash, by System V hash, and with both") {
  check_publisher(require_image(elf_from_yaml("publisher")));
  check_publisher(require_image(elf_from_yaml("publisher", {"HASH_TAG=DT_DEBUG"})));
  check_publisher(require_image(elf_from_yaml("publisher", {"GNU_HASH_TAG=DT_DEBUG"})));
}

TEST_CASE("elf_image: without a hash table there are no dynamic symbols") {
  const ElfImage image =
      require_image(elf_from_yaml("publisher", {"HASH_TAG=DT_DEBUG", "GNU_HASH_TAG=DT_DEBUG"}));
  CHECK_FALSE(has_symbol(image, kSet));
}

TEST_CASE("elf_image: a bloom filter that says no ends the search") {
  CHECK_FALSE(has_symbol(require_image(elf_from_yaml("publisher", {"BLOOM=0"})), kSet));
}

// A process may have loaded a thousand libraries that publish nothing.
TEST_CASE("elf_image: symbols that a library does not have take no read each") {
  if (!count_of_reads()) skip_test("the kernel does not count reads (CONFIG_TASK_IO_ACCOUNTING)");
  const auto reads_for = [](int names) {
    const std::uint64_t before = *count_of_reads();
    const ElfImage image = require_image(read_file(fixture_path("libcustomlabels_hash_gnu.so")));
    for (int i = 0; i < names; ++i) {
      CHECK_FALSE(has_symbol(image, ("no_symbol_of_this_library_" + std::to_string(i)).c_str()));
    }
    return *count_of_reads() - before;
  };
  // Both counts include those of looking at the counter.
  CHECK(reads_for(20) <= reads_for(0) + 2);
}

TEST_CASE(
    "elf_image: relocations of .rela.dyn and .rela.plt are found, other variables' left out") {
  check_relocations(require_image(elf_from_yaml("publisher")));
}

TEST_CASE("elf_image: an aarch64 file is read on any processor") {
  const ElfImage image = require_image(elf_from_yaml("publisher", aarch64_macros()));
  CHECK(image.machine() == Machine::kAarch64);
  check_publisher(image);
  check_relocations(image);
}

TEST_CASE("elf_image: x86-64 relocation numbers mean nothing in an aarch64 file") {
  const ElfImage image = require_image(
      elf_from_yaml("one_slot", {"MACHINE=EM_AARCH64", "RELOCATION=R_AARCH64_ABS64"}));
  auto found = image.tls_relocations(kSet);
  REQUIRE(found);
  CHECK(found->empty());
}

TEST_CASE("elf_image: the hash style of a compiled library makes no difference") {
  const ElfImage gnu = require_image(read_file(fixture_path("libcustomlabels_hash_gnu.so")));
  for (const char* style : {"sysv", "both"}) {
    const ElfImage other = require_image(
        read_file(fixture_path(std::string("libcustomlabels_hash_") + style + ".so")));
    for (const char* name : {kSet, kVersion}) {
      auto expected = gnu.find_dynamic_symbol(name);
      auto found = other.find_dynamic_symbol(name);
      REQUIRE(expected);
      REQUIRE(*expected);
      REQUIRE(found);
      REQUIRE(*found);
      CHECK((*found)->size == (*expected)->size);
      CHECK((*found)->type == (*expected)->type);
    }
    CHECK_FALSE(has_symbol(other, "no_such_symbol"));
  }
}

TEST_CASE("elf_image: section headers are not needed") {
  const std::string path = fixture_path("libcustomlabels_gnu2.so");
  const ElfImage whole = require_image(read_file(path));
  const ElfImage image = require_image(without_sections(path));
  CHECK_FALSE(*image.find_symtab_symbol(kSet));
  auto symbol = image.find_dynamic_symbol(kSet);
  REQUIRE(symbol);
  REQUIRE(*symbol);
  CHECK((*symbol)->value == (*whole.find_dynamic_symbol(kSet))->value);
  auto relocations = image.tls_relocations(kSet);
  REQUIRE(relocations);
  CHECK_FALSE(relocations->empty());
  CHECK_FALSE(image.build_id().empty());
  CHECK(image.build_id() == whole.build_id());
}

TEST_CASE("elf_image: what an executable does not export is in .symtab, until it is stripped") {
  const ElfImage image = require_image(read_file(fixture_path("exe_symtab_only")));
  CHECK_FALSE(has_symbol(image, kSet));
  auto symbol = image.find_symtab_symbol(kSet);
  REQUIRE(symbol);
  REQUIRE(*symbol);
  CHECK((*symbol)->type == STT_TLS);
  CHECK((*symbol)->size == sizeof(void*));
  CHECK((*symbol)->table == SymbolTable::kSymtab);
  const ElfImage stripped = require_image(read_file(fixture_path("exe_stripped")));
  CHECK_FALSE(*stripped.find_symtab_symbol(kSet));
}

TEST_CASE("elf_image: a variable that is only imported is not defined") {
  const ElfImage image = require_image(read_file(fixture_path("exe_importer_sysv")));
  auto dynamic = image.find_dynamic_symbol(kSet);
  REQUIRE(dynamic);
  CHECK_FALSE((*dynamic && (*dynamic)->defined));
  auto symtab = image.find_symtab_symbol(kSet);
  REQUIRE(symtab);
  CHECK_FALSE((*symtab && (*symtab)->defined));
}

TEST_CASE("elf_image: each dialect of a compiled library leaves its own relocation") {
  const std::pair<const char*, TlsRelocationKind> dialects[] = {
      {"libcustomlabels_gnu.so", TlsRelocationKind::kDtpMod},
      {"libcustomlabels_gnu2.so", TlsRelocationKind::kTlsDesc},
      {"libcustomlabels_ie.so", TlsRelocationKind::kTpOff},
  };
  for (const auto& [file, kind] : dialects) {
    INFO(file);
    const ElfImage image = require_image(read_file(fixture_path(file)));
    auto relocations = image.tls_relocations(kSet);
    REQUIRE(relocations);
    REQUIRE(relocations->size() == 1);
    CHECK(relocations->front().kind == kind);
    CHECK(relocations->front().by_name);
  }
}

TEST_CASE("elf_image: lld reaches a protected variable without a symbol, by its offset") {
  const ElfImage image = require_image(read_file(fixture_path("libcustomlabels_protected.so")));
  auto variable = image.find_dynamic_symbol(kSet);
  REQUIRE(variable);
  REQUIRE(*variable);
  REQUIRE((*variable)->value != 0);
  auto relocations = image.tls_relocations(kSet);
  REQUIRE(relocations);
  REQUIRE(relocations->size() == 1);
  CHECK_FALSE(relocations->front().by_name);
  CHECK(relocations->front().addend == static_cast<std::int64_t>((*variable)->value));
}

}  // namespace labelscope::test
