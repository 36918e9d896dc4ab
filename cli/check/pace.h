// Decides when to take the next sample: at random moments, so that no program keeps in step with
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "labelscope/ids.h"

namespace labelscope::cli {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Kind {
    // The same number of samples in each second, for a process that was there before.
    kEven,
    // Many samples at first and ever fewer later, for a program that may end at any moment or run
    // for long. As many fall between one second and ten as between a tenth and one.
    kFromStart,
  };

  // Plans to take `samples` until `span` has passed.
  Pace(Kind kind, std::uint64_t samples, std::chrono::nanoseconds span);

  // Returns how long to wait after a round that took so many samples at once.
  std::chrono::nanoseconds pause(std::chrono::nanoseconds elapsed, std::uint64_t taken);

 private:
  Kind kind_;
  double per_sample_;  // kEven: in nanoseconds; kFromStart: as part of the time that has passed
  std::minstd_rand random_{std::random_device{}()};
};

// Decides when each process of a checked program is sampled next. Each process has a pace of its
// own from its first labels on, so processes that start late are sampled as closely as the first.
// Before a process has labels, it is only asked whether it has some by now, which is often and
// cheap.
class SampleTurns {
 public:
  // Any clock will do; only differences count.
  using Time = std::chrono::nanoseconds;

  // Takes so many samples of each process until `span` after its first labels.
  SampleTurns(std::uint64_t samples, std::chrono::nanoseconds span);

  // Returns whether the process must be sampled now. A new process must be.
  bool is_due(Pid pid, Time now) const;
  // The result of a turn: how many threads were read at once; whether one had labels; which program
  // the process runs (any number that changes when it executes another).
  struct Taken {
    std::uint64_t threads = 0;
    bool labelled = false;
    std::uint64_t program = 0;
  };
  void note(Pid pid, const Taken& taken, Time now);
  // Forgets all other processes, because they have ended.
  void keep_only(const std::vector<Pid>& pids);
  // Returns when the next of them is due, but at most `latest`.
  Time next(Time latest) const;

 private:
  struct Turn {
    Pace pace;
    Time begin{};  // when its program started; with its first labels, when those came
    Time due{};
    bool labelled = false;    // has had labels
    std::uint64_t taken = 0;  // samples since then
    std::uint64_t program = 0;
  };

  std::uint64_t samples_;
  std::chrono::nanoseconds span_;
  std::map<Pid, Turn> turns_;
};

}  // namespace labelscope::cli
