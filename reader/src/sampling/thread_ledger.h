// How the time of a thread divides while it is recorded. Each term has an account of its own, so
// they need not add up by themselves:
//
//   |---------------------------- wall: by the clock ----------------------------|
//   |-- cpu: the kernel's count --|-- runnable, waiting, blocked --|-- open --|  residue
//                                     its waits that have ended       one that has not
//
// The residue is what no account has, or, if it is negative, what two of them have. Some
// microseconds of each switch are such time: the kernel counts the CPU time of a thread from the
// last update of its own clock, often that at the wake-up, and the thread is runnable meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "labelscope/ids.h"
#include "sampling/process_key.h"

namespace labelscope {

struct ThreadLedger {
  // Its process, and the program of it that it ran at last. A profile has an entry for that; the
  // number alone is what people know.
  ProcessKey process;
  std::uint32_t entry = kNoEntry;
  Tid tid{};
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::uint64_t waiting_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t open_ns = 0;
  std::uint64_t waits = 0;  // that have ended: so often has it got a processor

  static constexpr std::uint32_t kNoEntry = UINT32_MAX;
  std::int64_t residue_ns() const;
  void add(const ThreadLedger& other);
};

// The ledgers of all threads. Of very many, those that existed longest have a line each.
class ThreadLedgers {
 public:
  // Memory holds twice as many, and a file has as many lines.
  static constexpr std::size_t kMostThreads = 16384;

  void add(const ThreadLedger& thread);
  // Adds the sum of `count` threads that have no line.
  void add_others(const ThreadLedger& sum, std::uint64_t count);
  // Lets `visit` change each thread that has a line.
  template <class Visit>
  void each(const Visit& visit) {
    for (ThreadLedger& thread : threads_) visit(thread);
  }
  // Leaves the longest ones. Call it behind the last add().
  void cut();

  const std::vector<ThreadLedger>& threads() const { return threads_; }
  // All that have no line.
  const ThreadLedger& others() const { return others_; }
  std::uint64_t other_count() const { return other_count_; }
  std::uint64_t count() const { return threads_.size() + other_count_; }
  ThreadLedger sum() const;
  // Returns the threads with the largest residues, the largest first.
  std::vector<ThreadLedger> worst(std::size_t most) const;

 private:
  std::vector<ThreadLedger> threads_;
  ThreadLedger others_;
  std::uint64_t other_count_ = 0;
};

}  // namespace labelscope
