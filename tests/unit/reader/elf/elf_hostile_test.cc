// ElfImage over files that lie: every answer is a Result and comes at once, whatever the bytes say.
// Run this under the asan preset, too.
#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "elf/elf_image.h"
#include "elf/hostile_sections.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr const char* kSet = "custom_labels_current_set";

// Asks all questions that ElfImage answers. Returns true if the file was accepted.
bool ask_everything(const std::string& bytes) {
  Result<ElfImage> image = open_image(bytes);
  if (!image) {
    CHECK_FALSE(image.error().context.empty());
    return false;
  }
  for (const char* name : {kSet, "custom_labels_abi_version", "", "x"}) {
    auto dynamic = image->find_dynamic_symbol(name);
    CHECK((dynamic || !dynamic.error().context.empty()));
    auto symtab = image->find_symtab_symbol(name);
    CHECK((symtab || !symtab.error().context.empty()));
    auto relocations = image->tls_relocations(name);
    CHECK((relocations || !relocations.error().context.empty()));
  }
  CHECK(image->build_id().size() <= 128);
  if (image->tls()) {
    const std::uint64_t align = image->tls()->alignment;
    CHECK((align != 0 && (align & (align - 1)) == 0));
  }
  return true;
}

// Returns the result of a lookup in publisher.yaml with these macros.
Result<std::optional<ElfSymbol>> look_up(const std::vector<std::string>& macros,
                                         const char* name = kSet) {
  return require_image(elf_from_yaml("publisher", macros)).find_dynamic_symbol(name);
}

void check_code(const std::string& bytes, ErrorCode code) {
  Result<ElfImage> image = open_image(bytes);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == code);
}

template <class T>
void patch(std::string& bytes, std::size_t at, T value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Returns the offset of the program header of this type in the file.
std::size_t segment_at(const std::string& bytes, std::uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::size_t at = header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type == type) return at;
  }
  FAIL("no such segment");
  return 0;
}

class Deadline {
 public:
  // This is far above what an honest answer takes, and far below a walk of 2^32 steps.
  ~Deadline() { CHECK(std::chrono::steady_clock::now() - start_ < std::chrono::seconds(20)); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Checks by how much the peak of the process's memory grows during its life.
class MemoryBound {
 public:
  ~MemoryBound() { CHECK(peak() - before_ < (64 << 10)); }

 private:
  static long peak() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  }
  long before_ = peak();
};

constexpr std::uint64_t kMiB = 1 << 20;

// Makes a publisher with these section headers at its end, and a hole before them.
UniqueFd with_sections(const std::vector<Elf64_Shdr>& sections, std::uint16_t count,
                       std::uint64_t hole) {
  std::string bytes = elf_from_yaml("publisher");
  const std::uint64_t at = (bytes.size() + hole + 7) & ~std::uint64_t{7};
  patch<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), at);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), count);
  UniqueFd file = open_bytes(bytes);
  const auto size = sections.size() * sizeof(Elf64_Shdr);
  REQUIRE(::pwrite(file.get(), sections.data(), size, static_cast<off_t>(at)) ==
          static_cast<ssize_t>(size));
  return file;
}

}  // namespace

TEST_CASE("elf_hostile: what is no ELF file is malformed") {
  check_code("", ErrorCode::kMalformed);
  check_code(
      "\x7f"
      "ELF",
      ErrorCode::kMalformed);
  check_code(std::string(64, '\0'), ErrorCode::kMalformed);
  check_code("!<arch>\nfile/           0           0     0     644     4         `\nbody",
             ErrorCode::kMalformed);
}

TEST_CASE("elf_hostile: a directory and a closed descriptor are errors") {
  Result<ElfImage> directory =
      ElfImage::open(UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  CHECK_FALSE(directory);
  CHECK_FALSE(ElfImage::open(UniqueFd()));
}

TEST_CASE("elf_hostile: files for other machines are unsupported, not malformed") {
  check_code(elf_from_yaml("publisher", {"CLASS=ELFCLASS32"}), ErrorCode::kUnsupported);
  check_code(elf_from_yaml("publisher", {"DATA=ELFDATA2MSB"}), ErrorCode::kUnsupported);
  std::string other = elf_from_yaml("publisher");
  patch<std::uint16_t>(other, offsetof(Elf64_Ehdr, e_machine), EM_RISCV);
  check_code(other, ErrorCode::kUnsupported);
  check_code(elf_from_yaml("publisher", {"TYPE=ET_REL"}), ErrorCode::kUnsupported);
}

TEST_CASE("elf_hostile: a file cut off anywhere gives a result") {
  for (const char* name : {"libcustomlabels_gnu2.so", "exe_symtab_only"}) {
    const std::string whole = read_file(fixture_path(name));
    for (std::size_t part = 0; part <= 64; ++part) {
      INFO(name << " cut off after " << part << "/64");
      ask_everything(whole.substr(0, whole.size() * part / 64));
    }
  }
}

TEST_CASE("elf_hostile: any one byte of the first pages changed gives a result") {
  const std::string publisher = elf_from_yaml("publisher");
  for (const int bits : {0xff, 0x80, 0x01}) {
    for (std::size_t at = 0; at < std::min<std::size_t>(publisher.size(), 4096); ++at) {
      if (bits != 0xff && publisher[at] == 0) continue;
      std::string bytes = publisher;
      bytes[at] = static_cast<char>(bytes[at] ^ bits);
      INFO("byte " << at << " ^ " << bits);
      const Deadline deadline;
      ask_everything(bytes);
    }
  }
}

TEST_CASE("elf_hostile: a System V chain that loops is malformed") {
  const Deadline deadline;
  const auto found = look_up({"GNU_HASH_TAG=DT_DEBUG", "CHAIN_END=1"}, "absent");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::kMalformed);
}

TEST_CASE(
    "elf_hostile: a System V chain that loops ends also when the table claims 4 billion chains") {
  const Deadline deadline;
  const auto found =
      look_up({"GNU_HASH_TAG=DT_DEBUG", "CHAIN_END=1", "SYSV_CHAINS=0xffffffff"}, "absent");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::kMalformed);
}

TEST_CASE("elf_hostile: a GNU chain without an end is given up long before the segment's end") {
  // The file has 3 MiB of chain words with the end bit clear, each with the hash that is looked
  // for.
  std::string bytes = elf_from_yaml("publisher", {"HASH3=0x61a7469e"});
  const std::size_t load = segment_at(bytes, PT_LOAD);
  const std::uint64_t size = 3 << 20;
  bytes.resize(0x1000);
  for (std::size_t at = 0x1000; at + 4 <= size; at += 4)
    bytes.append(1, '\x9e').append("\x46\xa7\x61");
  bytes.resize(size);
  patch<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), 0);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), 0);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shstrndx), 0);
  patch<std::uint64_t>(bytes, load + offsetof(Elf64_Phdr, p_filesz), size);
  patch<std::uint64_t>(bytes, load + offsetof(Elf64_Phdr, p_memsz), size);
  // The table moves to the end of the file: {1 bucket, first symbol 1, 1 bloom word, shift 6}, ...
  const std::array<std::uint32_t, 7> table = {1, 1, 1, 6, 0xffffffff, 0xffffffff, 1};
  patch(bytes, 0x1000, table);
  patch<std::uint64_t>(bytes, 0x808, 0x1000);  // the value of DT_GNU_HASH
  const Deadline deadline;
  const auto found = require_image(bytes).find_dynamic_symbol(kSet);
  // Symbol 3 has that name; no symbol has the other.
  if (!found) FAIL(found.error().context);
  CHECK(*found);
  const auto absent = require_image(bytes).find_dynamic_symbol("absent");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().context.find("chain does not end") != std::string::npos);
}

TEST_CASE("elf_hostile: hash headers that are impossible are malformed") {
  for (const char* macro : {"BLOOM_WORDS=3", "BLOOM_WORDS=0", "SHIFT=32", "SHIFT=0xffffffff",
                            "NBUCKETS=0xffffffff", "BLOOM_WORDS=0x80000000"}) {
    INFO(macro);
    const auto found = look_up({macro});
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kMalformed);
  }
  const auto far = look_up({"GNU_HASH_TAG=DT_DEBUG", "SYSV_BUCKETS=0xffffffff"});
  CHECK_FALSE(far);
}

TEST_CASE("elf_hostile: no buckets means no symbols") {
  const auto gnu = look_up({"NBUCKETS=0"});
  REQUIRE(gnu);
  CHECK_FALSE(*gnu);
  const auto sysv = look_up({"GNU_HASH_TAG=DT_DEBUG", "SYSV_BUCKETS=0"});
  REQUIRE(sysv);
  CHECK_FALSE(*sysv);
}

TEST_CASE("elf_hostile: a string table that ends within the name has no such name") {
  const auto found = look_up({"STRSZ=0x18"});
  REQUIRE(found);
  CHECK_FALSE(*found);
  // The name comes first in the table. The table ends with the zero behind the name, or just before
  // it.
  const std::size_t end = 1 + std::strlen(kSet) + 1;
  const auto whole = look_up({"STRSZ=" + std::to_string(end)});
  REQUIRE(whole);
  CHECK(*whole);
  const auto without_zero = look_up({"STRSZ=" + std::to_string(end - 1)});
  REQUIRE(without_zero);
  CHECK_FALSE(*without_zero);
}

TEST_CASE("elf_hostile: a System V chain that leads past the last symbol is malformed") {
  const auto last = look_up({"GNU_HASH_TAG=DT_DEBUG", "SYSV_CHAINS=4"});
  REQUIRE(last);
  CHECK(*last);
  const auto past = look_up({"GNU_HASH_TAG=DT_DEBUG", "SYSV_CHAINS=3"});
  REQUIRE_FALSE(past);
  CHECK(past.error().code == ErrorCode::kMalformed);
}

TEST_CASE("elf_hostile: a relocation table larger than the file is malformed") {
  for (const char* size : {"RELASZ=0x100000", "RELASZ=0xffffffffffffffff"}) {
    const auto found = require_image(elf_from_yaml("publisher", {size})).tls_relocations(kSet);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kMalformed);
  }
}

TEST_CASE("elf_hostile: a million relocations of one variable are refused, and soon") {
  std::string bytes = elf_from_yaml("publisher");
  const std::size_t load = segment_at(bytes, PT_LOAD);
  constexpr std::size_t kCount = 1000000;
  bytes.resize(0x1000);
  for (std::size_t i = 0; i < kCount; ++i) {
    // The relocations name distinct symbols, all within the file.
    const Elf64_Rela rela{0x900, ELF64_R_INFO(4 + i, R_X86_64_TLSDESC), 0};
    bytes.append(reinterpret_cast<const char*>(&rela), sizeof rela);
  }
  patch<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), 0);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), 0);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shstrndx), 0);
  patch<std::uint64_t>(bytes, load + offsetof(Elf64_Phdr, p_filesz), bytes.size());
  patch<std::uint64_t>(bytes, load + offsetof(Elf64_Phdr, p_memsz), bytes.size());
  patch<std::uint64_t>(bytes, 0x800 + 16 * 5 + 8, 0x1000);                       // DT_RELA
  patch<std::uint64_t>(bytes, 0x800 + 16 * 6 + 8, kCount * sizeof(Elf64_Rela));  // DT_RELASZ
  const Deadline deadline;
  const auto found = require_image(bytes).tls_relocations(kSet);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::kLimit);
}

TEST_CASE("elf_hostile: the alignment of PT_TLS is a power of two or the file is malformed") {
  for (const std::uint64_t align : {3ULL, 0x41ULL, ~0ULL, 1ULL << 40}) {
    std::string bytes = elf_from_yaml("publisher");
    patch<std::uint64_t>(bytes, segment_at(bytes, PT_TLS) + offsetof(Elf64_Phdr, p_align), align);
    check_code(bytes, ErrorCode::kMalformed);
  }
  std::string zero = elf_from_yaml("publisher");
  patch<std::uint64_t>(zero, segment_at(zero, PT_TLS) + offsetof(Elf64_Phdr, p_align), 0);
  CHECK(require_image(zero).tls()->alignment == 1);
}

TEST_CASE("elf_hostile: segments that contradict themselves are malformed") {
  const std::pair<std::size_t, std::uint64_t> lies[] = {
      {offsetof(Elf64_Phdr, p_memsz), UINT64_MAX},
      {offsetof(Elf64_Phdr, p_filesz), 0x100000},
      {offsetof(Elf64_Phdr, p_vaddr), UINT64_MAX - 1},
  };
  for (const auto& [field, value] : lies) {
    std::string bytes = elf_from_yaml("publisher");
    patch<std::uint64_t>(bytes, segment_at(bytes, PT_LOAD) + field, value);
    check_code(bytes, ErrorCode::kMalformed);
  }
  std::string far = elf_from_yaml("publisher");
  patch<std::uint64_t>(far, segment_at(far, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_offset),
                       UINT64_MAX - 0xff);
  check_code(far, ErrorCode::kMalformed);
}

TEST_CASE("elf_hostile: a count of program headers beyond what any loader takes is malformed") {
  std::string bytes = elf_from_yaml("publisher");
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_phnum), 0);
  check_code(bytes, ErrorCode::kMalformed);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_phnum), 0xfffe);
  bytes.resize(0xfffe * sizeof(Elf64_Phdr) + sizeof(Elf64_Ehdr));
  Result<ElfImage> many = open_image(bytes);
  REQUIRE_FALSE(many);
  CHECK(many.error().context.find("more program headers") != std::string::npos);
  patch<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_phnum), PN_XNUM);
  check_code(bytes, ErrorCode::kMalformed);
}

TEST_CASE("elf_hostile: a file that is mostly a hole costs no memory") {
  // The file's size is 1 TiB, and its tables claim all of it.
  const std::string small = elf_from_yaml("publisher");
  std::string bytes = small;
  const std::uint64_t size = 1ULL << 40;
  for (const std::uint32_t type : {PT_LOAD, PT_DYNAMIC}) {
    const std::size_t at = segment_at(bytes, type);
    patch<std::uint64_t>(bytes, at + offsetof(Elf64_Phdr, p_filesz), size - 0x1000);
    patch<std::uint64_t>(bytes, at + offsetof(Elf64_Phdr, p_memsz), size - 0x1000);
  }
  patch<std::uint64_t>(bytes, 0x800 + 16 * 6 + 8, size / 2);  // DT_RELASZ
  UniqueFd fd = open_bytes(bytes);
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
  const Deadline deadline;
  Result<ElfImage> image = ElfImage::open(std::move(fd));
  if (!image) return;  // an immediate refusal is as good
  CHECK_FALSE(image->tls_relocations(kSet));
}

TEST_CASE("elf_hostile: millions of sections are refused and cost no memory") {
  Elf64_Shdr first{};
  first.sh_size = 2 << 20;  // the number of sections, since the header has none
  UniqueFd file = with_sections({first}, 0, 0);
  REQUIRE(::ftruncate(file.get(), static_cast<off_t>(256 * kMiB)) == 0);
  const MemoryBound bound;
  const Status counted = check_section_count(file.get());
  REQUIRE_FALSE(counted);
  CHECK(counted.error().code == ErrorCode::kLimit);
  Result<ElfImage> image = ElfImage::open(std::move(file));
  REQUIRE(image);
  CHECK_FALSE(image->has_symtab());
  const auto found = image->find_symtab_symbol(kSet);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::kLimit);
}

TEST_CASE("elf_hostile: sections are counted in files of every class and byte order") {
  const auto check_counted = [](const std::string& bytes, bool accepted) {
    const UniqueFd file = open_bytes(bytes);
    CHECK(check_section_count(file.get()).has_value() == accepted);
  };
  check_counted("", true);
  check_counted("no ELF file", true);
  check_counted(read_file(fixture_path("libcustomlabels_gnu2.so")), true);
  // sh_size has 32 bits here, the most significant byte first: 0x00020000 sections.
  std::string big(sizeof(Elf32_Ehdr) + sizeof(Elf32_Shdr), '\0');
  big.replace(0, EI_DATA + 1, std::string(ELFMAG) + "\x01\x02");
  big[offsetof(Elf32_Ehdr, e_shoff) + 3] = sizeof(Elf32_Ehdr);
  check_counted(big, true);
  big[sizeof(Elf32_Ehdr) + offsetof(Elf32_Shdr, sh_size) + 1] = 2;
  check_counted(big, false);
}

TEST_CASE("elf_hostile: symbol tables over one range are read once, and in pieces") {
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_size = 1;
  Elf64_Shdr symbols{};
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_offset = 0x1000;
  symbols.sh_size = 128 * kMiB;
  symbols.sh_link = 1;
  symbols.sh_entsize = sizeof(Elf64_Sym);
  std::vector<Elf64_Shdr> sections(64, symbols);
  sections[0] = Elf64_Shdr{};
  sections[1] = strings;
  const Result<ElfImage> image = ElfImage::open(
      with_sections(sections, static_cast<std::uint16_t>(sections.size()), 130 * kMiB));
  REQUIRE(image);
  CHECK(image->has_symtab());
  const MemoryBound bound;
  const auto absent = image->find_symtab_symbol(kSet);
  REQUIRE(absent);
  CHECK_FALSE(*absent);
  // Each of the symbols in the hole has this name; none of them is defined.
  const auto unnamed = image->find_symtab_symbol("");
  REQUIRE(unnamed);
  CHECK_FALSE(*unnamed);
}

TEST_CASE("elf_hostile: a name across the pieces in which strings are read is found") {
  const std::string fixture = read_file(fixture_path("exe_symtab_only"));
  const ElfImage honest = require_image(fixture);
  const auto expected = honest.find_symtab_symbol(kSet);
  REQUIRE(expected);
  REQUIRE(*expected);
  // The same symbols have their names moved to each place at which a border may cut them.
  Elf64_Ehdr header;
  std::memcpy(&header, fixture.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr symbols;
    std::memcpy(&symbols, fixture.data() + header.e_shoff + i * sizeof symbols, sizeof symbols);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const std::size_t strings_at = header.e_shoff + symbols.sh_link * sizeof symbols;
    Elf64_Shdr strings;
    std::memcpy(&strings, fixture.data() + strings_at, sizeof strings);
    const std::size_t symbol_at = symbols.sh_offset + (*expected)->index * sizeof(Elf64_Sym);
    for (std::size_t border : {std::size_t{256} << 10, std::size_t{512} << 10}) {
      for (const std::size_t before : {0, 1, 12, 23, 24, 25}) {
        std::string moved(border - before, 'x');
        moved.append(kSet).append(1, '\0');
        std::string bytes = fixture;
        patch(bytes, strings_at + offsetof(Elf64_Shdr, sh_offset), std::uint64_t{fixture.size()});
        patch(bytes, strings_at + offsetof(Elf64_Shdr, sh_size), std::uint64_t{moved.size()});
        patch(bytes, symbol_at + offsetof(Elf64_Sym, st_name),
              static_cast<std::uint32_t>(border - before));
        INFO("border " << border << ", " << before << " bytes before it");
        const ElfImage image = require_image(bytes + moved);
        const auto found = image.find_symtab_symbol(kSet);
        REQUIRE(found);
        REQUIRE(*found);
        CHECK((*found)->index == (*expected)->index);
        CHECK((*found)->value == (*expected)->value);
      }
    }
  }
}

}  // namespace labelscope::test
