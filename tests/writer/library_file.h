// A shared library as a reader sees it: dynamic symbols, TLS descriptors, names.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

class LibraryFile {
 public:
  explicit LibraryFile(const char* path);
  ~LibraryFile();
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  std::map<std::string, GElf_Sym> defined;   // dynamic symbols
  std::vector<std::string> tls_descriptors;  // the symbols that they name; empty if by offset
  int other_tls_relocations = 0;             // of the older models
  std::vector<std::string> sonames;
  std::set<std::string> needed;  // the libraries that it loads

  // Returns how many TLS descriptors name the symbol.
  long descriptors_of(const std::string& symbol) const;
  std::set<std::string> exported() const;
  // Returns the four bytes at a virtual address, if they are in a segment that is not writable.
  std::optional<std::uint32_t> read_only_word(GElf_Addr address) const;

 private:
  void read_section(Elf_Scn* section);
  void read_symbol(Elf_Data* data, int index, std::uint32_t strings);
  void read_relocation(Elf_Data* data, int index, std::uint32_t symbols);
  void read_dynamic(Elf_Data* data, int index, std::uint32_t strings);

  int fd_;
  Elf* elf_ = nullptr;
};
