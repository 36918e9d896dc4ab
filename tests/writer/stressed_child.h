// A child process whose threads change their labels as fast as they can. A signal interrupts each
// of them ten thousand times a second, and its handler checks the set that it finds. Samplers may
// read the child from outside at the same time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "labelscope/unique_fd.h"

// This is shared with the child. One of its threads writes it, and so does that thread's signal
// handler.
struct StressedThread {
  std::atomic<pid_t> tid{0};
  std::atomic<std::uint64_t> iteration{0};  // the current one; 0 before the first
  std::atomic<std::uint64_t> updates{0};    // calls that published a set
  std::atomic<std::uint64_t> cpu_ns{0};
  std::atomic<std::uint64_t> interrupts{0};
  std::atomic<std::uint64_t> interrupts_in_calls{0};
  std::atomic<std::uint64_t> wrong_sets{0};
};

// A function that a thread repeats: it publishes sets of this iteration, as checked_labels.h
// describes them, leaves one of them behind, and returns how many it has published.
using Iteration = std::uint64_t (*)(unsigned thread, std::uint64_t iteration);

// Uses all ways of the writer library to change labels.
std::uint64_t change_labels(unsigned thread, std::uint64_t iteration);
// Uses the naive writer, on one thread only.
std::uint64_t change_labels_naively(unsigned thread, std::uint64_t iteration);

class StressedChild {
 public:
  static constexpr unsigned kMostThreads = 2;

  // The calling process must have one thread. Returns when all threads of the child are running.
  StressedChild(Iteration iteration, unsigned threads);
  ~StressedChild();
  StressedChild(const StressedChild&) = delete;
  StressedChild& operator=(const StressedChild&) = delete;

  pid_t pid() const { return pid_; }
  unsigned threads() const { return threads_; }
  const StressedThread& thread(unsigned number) const { return shared_->threads[number]; }
  std::uint64_t updates() const;
  std::uint64_t wrong_sets() const;
  // Returns the number of the thread, or kMostThreads.
  unsigned number_of(pid_t tid) const;
  // Returns a text with updates, their rate, and interrupts.
  std::string summary() const;

  // Returns after a few milliseconds, or when the child ends.
  void wait_a_moment() const;
  // Calls `meanwhile` until the condition holds. Fails the test case if the child ends, or after a
  // minute.
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

// Returns whether there were enough updates in all threads together, and enough interrupts of each.
// With sanitizers fewer are enough.
bool has_seen_enough(const StressedChild& child);
