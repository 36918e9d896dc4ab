// These are the mappings of a process: one parsed line of /proc/PID/maps each.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

// The identity of a file: the same bytes under any name. It is all zero for memory that has no
// file.
struct FileId {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint64_t inode = 0;
  // clang-tidy 14 takes the 0 that <=> is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds one in a defaulted comparison
  friend auto operator<=>(const FileId&, const FileId&) = default;  // NOLINT(modernize-use-nullptr)
  explicit operator bool() const { return inode != 0; }
};

// The times of a file, which change when it is written.
struct FileTimes {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileTimes&, const FileTimes&) = default;
};

struct Mapping {
  Address start = 0;  // first byte
  Address end = 0;    // one past the last
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  FileId file;
  std::string path;  // as the kernel prints it: octal escapes, " (deleted)" and "[stack]" included
};

// Parses the text of /proc/PID/maps. kMalformed names the line; the kernel never writes such a
// line, but the text may come from a file.
Result<std::vector<Mapping>> parse_maps(std::string_view text);

// Returns what is mapped at `address`, or nullptr. `mappings` must be sorted by address, as the
// kernel sorts them.
const Mapping* find_mapping(const std::vector<Mapping>& mappings, Address address);

}  // namespace labelscope
