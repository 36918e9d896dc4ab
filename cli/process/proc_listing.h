// Lists what has numbers in /proc: processes, and the open files of each.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/ids.h"

namespace labelscope::cli {

// Returns the number that the whole text is.
template <class T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns what the symbolic link names; nothing if it cannot be read.
std::string link_target(const std::string& path);

class ProcListing {
 public:
  explicit ProcListing(std::string proc) : proc_(std::move(proc)) {}

  // Returns all processes, in the order of numbers.
  std::vector<Pid> pids() const;
  // Returns a path that ends with a slash: "/proc/17/".
  std::string folder_of(Pid pid) const;
  // Returns the same, or where its first thread has ended, that of one of its other threads, which
  // still has what the process has: "/proc/17/task/19/". Returns nothing if all threads have ended.
  std::string living_folder_of(Pid pid) const;
  // Returns the open files of a process as their links name them; nothing, with errno, if
  // labelscope may not see them.
  std::optional<std::vector<std::string>> open_files(Pid pid) const;

 private:
  std::string proc_;
};

}  // namespace labelscope::cli
