// TableBuilder builds unwind tables in a thread of its own, so that sampling begins and goes on
// meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "unwind_table/build_unwind_table.h"

namespace labelscope {

class TableBuilder {
 public:
  using Build = BuildUnwindTable;
  struct Built {
    std::uint64_t key = 0;
    Result<UnwindTable> table;
  };

  explicit TableBuilder(Build build);
  ~TableBuilder();
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;

  // Returns whether another file may wait. Files that wait are open, and others need descriptors,
  // too.
  bool has_room() const;
  bool is_idle() const;  // true if there is nothing to build
  // kFirst: a program, its loader or its C library, which nearly every stack leads through. Their
  // tables are small, and built before those of other files.
  enum class Order : std::uint8_t { kFirst, kThen };
  // Without a thread, which the system may refuse, the file has an error at once.
  void ask(std::uint64_t key, UniqueFd file, Order order = Order::kThen);
  // Returns the tables that are ready.
  std::vector<Built> take();
  // This descriptor is readable when everything that was asked for is ready, until take().
  int ready_fd() const { return ready_.get(); }
  // Puts this file, if it still waits, before all that are not of kFirst.
  void prefer(std::uint64_t key);
  // Waits until everything that was asked for is ready. Returns false if it takes longer.
  bool wait(std::chrono::milliseconds timeout);

 private:
  struct Asked {
    std::uint64_t key;
    UniqueFd file;
    Order order;
  };
  bool has_thread();  // starts it if there is none
  void run();

  Build build_;
  std::size_t most_asked_;
  UniqueFd ready_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Asked> asked_;
  std::vector<Built> built_;
  bool busy_ = false;
  bool ends_ = false;
  std::thread thread_;  // from the first ask() on
};

}  // namespace labelscope
