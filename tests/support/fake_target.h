// A process made by a test: ELF files laid out in fake memory like a loader's before relocation.
// The test writes what the loader would write.
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/target.h"
#include "support/fake_memory.h"

namespace labelscope::test {

class FakeTarget : public Target {
 public:
  // Maps the PT_LOAD segments of a well-formed 64-bit file. The first segment of the file starts at
  // link-time address 0 or at its own; `bias` is added.
  void load(const std::string& path, const std::string& file, Address bias, bool main = false);
  // Maps the first bytes of a file as they are. The file may be loaded already.
  void map_bytes(const std::string& path, const std::string& file, Address start,
                 std::uint64_t size, bool executable);
  // Splits the mapping that has these pages.
  void protect(Address start, Address end, bool executable);
  // Makes a file impossible to open from now on.
  void lose_file(const std::string& path) { lost_.push_back(path); }

  Result<std::vector<Mapping>> mappings() const override { return mappings_; }
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  // All files have the same times, until they are written.
  Result<FileTimes> file_times(const Mapping&) const override { return FileTimes{0, written_, 0}; }
  void note_written() { ++written_; }
  const MemorySource& memory() const override { return memory_; }
  std::optional<Address> program_headers_address() const override { return headers_; }

  FakeMemory& fake_memory() { return memory_; }
  // Returns how often the file was opened.
  int opened(const std::string& path) const;

 private:
  struct File {
    std::string bytes;
    std::uint64_t inode;
  };
  std::uint64_t inode_of(const std::string& path, const std::string& file);
  void add_mapping(Mapping mapping);

  std::vector<Mapping> mappings_;
  std::map<std::string, File> files_;
  std::vector<std::string> lost_;
  std::optional<Address> headers_;
  FakeMemory memory_;
  mutable std::map<std::string, int> opened_;
  std::int64_t written_ = 0;
};

// Opens an unnamed file with these bytes, for reading from its start.
UniqueFd open_bytes(const std::string& bytes);

}  // namespace labelscope::test
