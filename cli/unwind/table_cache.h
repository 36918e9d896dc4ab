// Unwind tables that are kept from one recording to the next, in a folder that only labelscope's
// own user can use, and that has nothing else in it. A table is found again by what identifies its
// file (table_key.h).
//
// Nothing is kept of a worker that has read a file without a key before, because that file may
// control it.
//
// What is read is no better than what a worker sends, so it is checked in the same way
// (table_messages.h). Besides, it must be whole, made by this very labelscope, and writable for
// nobody else. Anything else is removed and made again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope::cli {

class TableCache {
 public:
  // The tables of all programs of a machine with 2,000 packages take about this.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

  // Returns $XDG_CACHE_HOME/labelscope; without that, /var/cache/labelscope for root, and
  // ~/.cache/labelscope for others. It is empty if there is no such place.
  static std::string usual_folder();
  // Makes the folder if it is not there. It must be the user's own, closed to others, and have
  // nothing but tables in it: the oldest of them are removed.
  static Result<std::unique_ptr<TableCache>> open(const std::string& folder,
                                                  std::uint64_t most_bytes = kMostBytes);
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // Returns whether no table is kept. It is true if the folder cannot be listed.
  bool is_empty() const;
  // One thread at a time may call these two. They take a key of table_key_of(), which is not empty.
  std::optional<UnwindTable> find(const std::string& key);
  // Fails in silence, but for what problems() has.
  void keep(const std::string& key, const UnwindTable& table);

  // Any thread may call these.
  const std::string& folder() const { return folder_; }
  std::size_t found() const { return found_; }
  // Why tables that were there could not be used, and why none could be kept; the first ones.
  std::vector<std::string> problems() const;

 private:
  TableCache(std::string folder, UniqueFd fd, std::uint64_t most_bytes)
      : folder_(std::move(folder)), fd_(std::move(fd)), most_bytes_(most_bytes) {}
  Result<UnwindTable> read(const std::string& name, const std::string& key);
  Status write(const std::string& name, std::string_view bytes);
  void make_room(std::uint64_t bytes);
  void note(std::string problem);

  std::string folder_;
  UniqueFd fd_;
  std::uint64_t most_bytes_;
  std::optional<std::uint64_t> bytes_;  // in the folder; not known before the first keep()
  std::atomic<std::size_t> found_ = 0;
  mutable std::mutex mutex_;  // guards problems_
  std::vector<std::string> problems_;
};

}  // namespace labelscope::cli
