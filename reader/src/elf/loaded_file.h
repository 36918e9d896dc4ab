// LoadedFile has the bytes of an ELF file by their link-time addresses: what PT_LOAD maps, read
// with pread(2).
//
// A table of a hostile file may lead anywhere and be any length, so nothing is kept or allocated by
// its claims: callers read into storage of their own, in pieces of a size that they choose. Of each
// file only the first page may be kept. It has the headers, and mostly the beginning of the hash
// table, which is read again for each symbol that is looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// Fills `out` from the file's bytes. Fails with kMalformed if there are none.
Status read_fully(const UniqueFd& file, std::uint64_t offset, std::span<std::byte> out);
template <class T>
Result<T> read_value(const UniqueFd& file, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T out;
  Status status = read_fully(file, offset, std::as_writable_bytes(std::span(&out, 1)));
  if (!status) return std::move(status).error();
  return out;
}

struct LoadSegment {
  std::uint64_t vaddr = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  bool executable = false;
  bool writable = false;  // according to its flags; see ElfImage::stays_writable()
};

// Returns the load bias, runtime address minus link-time address, if a loader has mapped code of
// one of these segments from `file_offset` to `start`. Returns nullopt if no segment has code
// there.
std::optional<std::uint64_t> load_bias_at(const std::vector<LoadSegment>& segments,
                                          std::uint64_t start, std::uint64_t file_offset);

struct LoadedFile {
  UniqueFd fd;
  std::vector<LoadSegment> loads;
  std::vector<std::byte> first_page{};  // empty, or less for a file that has less

  // Reads the first page, from which read_offset() answers then.
  void keep_first_page();
  // Fills `out`. Fails with kMalformed if the file does not have these bytes.
  Status read_offset(std::uint64_t offset, std::span<std::byte> out) const;
  // Reads by link-time address; the bytes must be within one segment.
  Status read(std::uint64_t vaddr, std::span<std::byte> out) const;
  // Returns whether one segment holds all of it.
  bool holds(std::uint64_t vaddr, std::uint64_t size) const;

  template <class T>
  Result<T> value(std::uint64_t vaddr) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T out;
    Status status = read(vaddr, std::as_writable_bytes(std::span(&out, 1)));
    if (!status) return std::move(status).error();
    return out;
  }

 private:
  const LoadSegment* segment_of(std::uint64_t vaddr, std::uint64_t size) const;
};

}  // namespace labelscope
