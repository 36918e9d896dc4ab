// Core files of either processor, made by a test, with any error that it needs. The numbers of the
// kernel's headers are written down here a second time on purpose.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope::test {

template <class T>
std::string bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

struct MadeThread {
  std::int32_t tid = 0;
  std::int16_t signal = 0;
  Address thread_pointer = 0;
  Address pc = 0;
  Address sp = 0;
};

struct MadeFile {
  Address start = 0;
  Address end = 0;
  std::uint64_t page = 0;  // of the file
  std::string path;
};

class CoreBytes {
 public:
  explicit CoreBytes(Machine machine = kHostMachine);

  // Notes stand in the order of the calls.
  void add_thread(const MadeThread& thread);
  void add_process(std::int32_t pid, const std::string& comm, const std::string& arguments);
  void add_auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries);
  void add_files(const std::vector<MadeFile>& files);
  void add_note(const std::string& owner, std::uint32_t type, const std::string& content);
  // Adds these bytes as they are, right or wrong.
  void add_note_bytes(const std::string& bytes) { notes_ += bytes; }

  // Adds memory of which the core holds `content` only.
  void add_memory(Address start, const std::string& content, std::uint64_t size = 0,
                  std::uint32_t flags = PF_R | PF_W);
  // Adds a library as the kernel dumps it: the first page and the writable pages. Mapped files are
  // listed for add_loaded_files(). `changes` are bytes that the loader wrote, by link-time address.
  void add_library(const std::string& path, const std::string& file, Address bias,
                   const std::vector<std::pair<std::uint64_t, std::string>>& changes = {},
                   bool first_page = true, bool writable_pages = true);
  void add_loaded_files() { add_files(loaded_); }

  // Writes 0xffff into e_phnum, and the count into a section header at the end of the file.
  void count_in_section() { count_in_section_ = true; }
  // The test may change any byte of the result.
  std::string bytes() const;

 private:
  struct Segment {
    Elf64_Phdr header;
    std::string content;
  };
  Machine machine_;
  std::string notes_;
  std::vector<Segment> segments_;
  std::vector<MadeFile> loaded_;
  bool count_in_section_ = false;
};

}  // namespace labelscope::test
