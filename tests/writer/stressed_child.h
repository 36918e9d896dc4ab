// A child process whose threads change their labels as fast as they can, each interrupted ten
// thousand times a second by a signal whose handler checks the set that it finds. Others may sample
// it from outside at the same time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "labelscope/unique_fd.h"

// Shared with the child. One of its threads writes it, and its signal handler.
struct StressedThread {
  std::atomic<pid_t> tid{0};
  std::atomic<std::uint64_t> iteration{0};  // the one that is running; 0: none yet
  std::atomic<std::uint64_t> updates{0};    // calls that published a set
  std::atomic<std::uint64_t> cpu_ns{0};
  std::atomic<std::uint64_t> interrupts{0};
  std::atomic<std::uint64_t> interrupts_in_calls{0};
  std::atomic<std::uint64_t> wrong_sets{0};
};

// What a thread does again and again: publishes sets of this iteration, as checked_labels.h
// describes them, leaving one of them behind. Returns how many it has published.
using Iteration = std::uint64_t (*)(unsigned thread, std::uint64_t iteration);

// The writer library through all its ways of changing labels.
std::uint64_t change_labels(unsigned thread, std::uint64_t iteration);
// The naive writer. One thread only.
std::uint64_t change_labels_naively(unsigned thread, std::uint64_t iteration);

class StressedChild {
 public:
  static constexpr unsigned kMostThreads = 2;

  // The caller must have one thread. Returns when all threads are running.
  StressedChild(Iteration iteration, unsigned threads);
  ~StressedChild();
  StressedChild(const StressedChild&) = delete;
  StressedChild& operator=(const StressedChild&) = delete;

  pid_t pid() const { return pid_; }
  unsigned threads() const { return threads_; }
  const StressedThread& thread(unsigned number) const { return shared_->threads[number]; }
  std::uint64_t updates() const;
  std::uint64_t wrong_sets() const;
  // The number of the thread, or kMostThreads.
  unsigned number_of(pid_t tid) const;
  // For the record: updates, their rate, interrupts.
  std::string summary() const;

  // Returns after a few milliseconds, or when the child ends.
  void wait_a_moment() const;
  // Calls `meanwhile` until the condition holds; fails the test case if the child ends or that
  // takes longer than a minute.
  void run_until(const std::function<bool()>& condition, const std::function<void()>& meanwhile);

 private:
  struct Shared {
    StressedThread threads[kMostThreads];
  };

  Shared* shared_;
  pid_t pid_ = -1;
  labelscope::UniqueFd pidfd_;
  unsigned threads_;
};

// Enough updates, in all threads together, and enough interrupts of each: fewer with sanitizers.
bool has_seen_enough(const StressedChild& child);
