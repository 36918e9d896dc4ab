// libcustomlabels.so as other readers meet it: a file with two symbols, a relocation and a name.
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "customlabels/label_abi.h"
#include "support/catch.h"

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kTlsdesc = R_X86_64_TLSDESC;
#else
constexpr std::uint32_t kTlsdesc = R_AARCH64_TLSDESC;
#endif

struct TlsdescRelocation {
  std::string symbol;  // empty: by offset
};

class LibraryFile {
 public:
  LibraryFile() : fd_(open(LIBCUSTOMLABELS_PATH, O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
    REQUIRE(elf_ != nullptr);
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(elf_, section)) != nullptr) read_section(section);
  }
  ~LibraryFile() {
    elf_end(elf_);
    close(fd_);
  }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  std::map<std::string, GElf_Sym> defined;  // dynamic symbols
  std::vector<TlsdescRelocation> tlsdesc;
  std::vector<std::string> sonames;

  // The four bytes at a virtual address, if they are in a segment that may not be written.
  std::optional<std::uint32_t> read_only_word(GElf_Addr address) const {
    std::size_t count = 0;
    REQUIRE(elf_getphdrnum(elf_, &count) == 0);
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      REQUIRE(gelf_getphdr(elf_, static_cast<int>(i), &header) != nullptr);
      const bool holds = header.p_type == PT_LOAD && address >= header.p_vaddr &&
                         address + sizeof(std::uint32_t) <= header.p_vaddr + header.p_filesz;
      if (!holds) continue;
      if ((header.p_flags & PF_W) != 0) return std::nullopt;
      std::uint32_t word = 0;
      REQUIRE(pread(fd_, &word, sizeof(word),
                    static_cast<off_t>(header.p_offset + address - header.p_vaddr)) ==
              static_cast<ssize_t>(sizeof(word)));
      return word;
    }
    return std::nullopt;
  }

 private:
  void read_section(Elf_Scn* section) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(section, &header) != nullptr);
    Elf_Data* data = elf_getdata(section, nullptr);
    const int count =
        header.sh_entsize == 0 ? 0 : static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      if (header.sh_type == SHT_DYNSYM) read_symbol(data, i, header.sh_link);
      if (header.sh_type == SHT_RELA) read_relocation(data, i, header.sh_link);
      if (header.sh_type == SHT_DYNAMIC) read_dynamic(data, i, header.sh_link);
    }
  }

  void read_symbol(Elf_Data* data, int index, std::uint32_t strings) {
    GElf_Sym symbol;
    REQUIRE(gelf_getsym(data, index, &symbol) != nullptr);
    if (symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL) return;
    defined[elf_strptr(elf_, strings, symbol.st_name)] = symbol;
  }

  void read_relocation(Elf_Data* data, int index, std::uint32_t symbols) {
    GElf_Rela relocation;
    REQUIRE(gelf_getrela(data, index, &relocation) != nullptr);
    if (GELF_R_TYPE(relocation.r_info) != kTlsdesc) return;
    Elf_Scn* section = elf_getscn(elf_, symbols);
    GElf_Shdr header;
    GElf_Sym symbol;
    REQUIRE(gelf_getshdr(section, &header) != nullptr);
    REQUIRE(gelf_getsym(elf_getdata(section, nullptr),
                        static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) != nullptr);
    tlsdesc.push_back({elf_strptr(elf_, header.sh_link, symbol.st_name)});
  }

  void read_dynamic(Elf_Data* data, int index, std::uint32_t strings) {
    GElf_Dyn entry;
    REQUIRE(gelf_getdyn(data, index, &entry) != nullptr);
    if (entry.d_tag == DT_SONAME) sonames.emplace_back(elf_strptr(elf_, strings, entry.d_un.d_val));
  }

  int fd_;
  Elf* elf_ = nullptr;
};

}  // namespace

TEST_CASE("library_file: the version symbol is four read-only bytes with the value 1") {
  const LibraryFile file;
  REQUIRE(file.defined.count(CUSTOM_LABELS_VERSION_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(CUSTOM_LABELS_VERSION_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_OBJECT);
  CHECK(symbol.st_size == 4);
  CHECK(file.read_only_word(symbol.st_value) == 1U);
}

TEST_CASE("library_file: the current set is a thread-local symbol of eight bytes") {
  const LibraryFile file;
  REQUIRE(file.defined.count(CUSTOM_LABELS_CURRENT_SET_SYMBOL) == 1);
  const GElf_Sym& symbol = file.defined.at(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  CHECK(GELF_ST_TYPE(symbol.st_info) == STT_TLS);
  CHECK(symbol.st_size == 8);
}

TEST_CASE("library_file: the current set is reached by a TLS descriptor that names it") {
#if !LIBCUSTOMLABELS_TLSDESC
  skip_test("this compiler cannot make TLS descriptors");
#endif
  const LibraryFile file;
  int by_name = 0;
  for (const TlsdescRelocation& relocation : file.tlsdesc)
    by_name += relocation.symbol == CUSTOM_LABELS_CURRENT_SET_SYMBOL ? 1 : 0;
  CHECK(by_name == 1);
}

TEST_CASE("library_file: nothing is exported but the API and the two symbols of the ABI") {
  std::set<std::string> exported;
  for (const auto& [name, symbol] : LibraryFile().defined) exported.insert(name);
  CHECK(exported == std::set<std::string>{CUSTOM_LABELS_VERSION_SYMBOL,
                                          CUSTOM_LABELS_CURRENT_SET_SYMBOL,
                                          "custom_labels_thread_prepare",
                                          "custom_labels_thread_set",
                                          "custom_labels_thread_update",
                                          "custom_labels_thread_replace",
                                          "custom_labels_thread_remove",
                                          "custom_labels_thread_clear",
                                          "custom_labels_thread_set_trace",
                                          "custom_labels_thread_clear_trace",
                                          "custom_labels_thread_enter",
                                          "custom_labels_thread_enter_set",
                                          "custom_labels_thread_leave",
                                          "custom_labels_new",
                                          "custom_labels_free",
                                          "custom_labels_current",
                                          "custom_labels_replace",
                                          "custom_labels_clone",
                                          "custom_labels_clone_with_capacity",
                                          "custom_labels_count",
                                          "custom_labels_get",
                                          "custom_labels_at",
                                          "custom_labels_set",
                                          "custom_labels_update",
                                          "custom_labels_delete",
                                          "custom_labels_remove",
                                          "custom_labels_clear",
                                          "custom_labels_run_with",
                                          "custom_labels_debug_string",
                                          "custom_labels_careful_set",
                                          "custom_labels_careful_delete",
                                          "custom_labels_careful_run_with"});
}

TEST_CASE("library_file: file name and SONAME end in .so, as readers look for them") {
  const std::string path = LIBCUSTOMLABELS_PATH;
  CHECK(path.substr(path.rfind('/') + 1) == "libcustomlabels.so");
  CHECK(LibraryFile().sonames == std::vector<std::string>{"libcustomlabels.so"});
}
