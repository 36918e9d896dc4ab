// ProcessFiles are the files that a dead process had mapped. It finds them on this machine when
// they are first needed, and compares them with the core before it uses a byte of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/core_memory.h"
#include "core/core_notes.h"
#include "core/file_finder.h"
#include "elf/elf_image.h"
#include "process/loaded_headers.h"

namespace labelscope {

// Memory with a file behind it; `file` is an index of ProcessFiles.
struct FileRange {
  Address start = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  std::size_t file = 0;
};

// Several threads may use it once it is made.
class ProcessFiles {
 public:
  // It keeps a reference to `dumped`. The program headers' address shows which file is the main
  // executable.
  ProcessFiles(std::vector<MappedRange> table, const DumpedMemory& dumped, Machine machine,
               FileFinder finder, const CoreNotes& notes);

  const std::vector<FileRange>& ranges() const { return ranges_; }  // by address, none overlapping
  const FileRange* range_of(Address address) const;
  const std::string& path(std::size_t file) const { return files_[file].path; }

  // Returns false if the core shows that the file is not ELF. It does not look for the file; open()
  // does.
  bool may_be_elf(std::size_t file) const;
  // Fails with kNotFound, or with kMalformed if it is no ELF file, and a reason that names the
  // build ID.
  Result<UniqueFd> open(std::size_t file) const;
  // Reads bytes of a file at their runtime address. It refuses memory that the process may have
  // written to, unless the core has all written memory: then a byte that is not in it was never
  // written.
  Status read(const FileRange& range, Address address, std::span<std::byte> out) const;
  std::vector<CoreFileProblem> problems() const;

 private:
  struct File {
    std::string path;
    std::vector<std::size_t> ranges;
    std::optional<Address> first_page;     // where it was mapped, if it was dumped
    std::optional<LoadedHeaders> headers;  // from the first page, read when first needed
    std::optional<Result<UniqueFd>> found;
    std::vector<LoadSegment> segments;  // those of the file that was found
  };
  enum class Proof { kNone, kContent };

  const UniqueFd* find(std::size_t file, Error& why) const;
  const LoadedHeaders& headers_of(File& file) const;
  Result<Proof> check(const File& file, const std::string& build_id, const UniqueFd& fd) const;
  bool may_be_written(const FileRange& range, Address address, std::size_t size) const;
  Status check_placement(const File& file, const ElfImage& image, const UniqueFd& fd) const;

  const DumpedMemory& dumped_;
  Machine machine_;
  bool has_written_memory_;
  std::optional<Address> entry_;
  std::optional<std::size_t> main_executable_;
  std::vector<FileRange> ranges_;
  mutable std::mutex mutex_;  // protects the members below
  mutable FileFinder finder_;
  mutable std::vector<File> files_;
  mutable std::vector<CoreFileProblem> problems_;
};

}  // namespace labelscope
