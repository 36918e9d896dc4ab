// Core files made by a test, of either processor, with whatever is to be wrong about them. Numbers
// are those of the kernel's headers, written down here a second time on purpose.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
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

  // Notes, in the order of the calls.
  void add_thread(const MadeThread& thread);
  void add_process(std::int32_t pid, const std::string& comm, const std::string& arguments);
  void add_auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries);
  void add_files(const std::vector<MadeFile>& files);
  void add_note(const std::string& owner, std::uint32_t type, const std::string& content);
  // As it is, right or wrong.
  void add_note_bytes(const std::string& bytes) { notes_ += bytes; }

  // Memory of which the core holds `content`, and nothing of the rest.
  void add_memory(Address start, const std::string& content, std::uint64_t size = 0,
                  std::uint32_t flags = PF_R | PF_W);
  // A library as the kernel dumps it: the first page and what is writable. Mapped files are listed
  // for add_loaded_files(). `changes`: bytes that the loader wrote, by link-time address.
  void add_library(const std::string& path, const std::string& file, Address bias,
                   const std::vector<std::pair<std::uint64_t, std::string>>& changes = {},
                   bool first_page = true, bool writable_pages = true);
  void add_loaded_files() { add_files(loaded_); }

  // e_phnum 0xffff and the count in a section header at the end of the file.
  void count_in_section() { count_in_section_ = true; }
  // Any byte of the result may be changed.
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
