// When to take the next sample: at random moments, so that no program keeps in step with them.
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
    // The same number of samples in each second: of a process that was there before.
    kEven,
    // Many at first and ever fewer: of a program that may end at any moment, or run for long. As
    // many fall between one second and ten as between a tenth and one.
    kFromStart,
  };

  // `samples` are to be taken until `span` has passed.
  Pace(Kind kind, std::uint64_t samples, std::chrono::nanoseconds span);

  // How long to wait after a round that took so many samples at once.
  std::chrono::nanoseconds pause(std::chrono::nanoseconds elapsed, std::uint64_t taken);

 private:
  Kind kind_;
  double per_sample_;  // kEven: nanoseconds; kFromStart: part of the time that has passed
  std::minstd_rand random_{std::random_device{}()};
};

// When each process of a checked program is sampled next. Each has a pace of its own, from its
// first labels on: what a program starts in its last seconds is looked at as closely as what it
// began with. Until then it is only asked whether it has labels by now, often and at no cost to
// speak of.
class SampleTurns {
 public:
  // Any clock; only differences count.
  using Time = std::chrono::nanoseconds;

  // Of each process so many samples, until `span` after its first labels.
  SampleTurns(std::uint64_t samples, std::chrono::nanoseconds span);

  // Whether it is to be sampled now. One that has not been heard of is.
  bool is_due(Pid pid, Time now) const;
  // What came of it: how many threads were read at once; whether one had labels; the program that
  // the process runs, by any number that changes when it executes another.
  struct Taken {
    std::uint64_t threads = 0;
    bool labelled = false;
    std::uint64_t program = 0;
  };
  void note(Pid pid, const Taken& taken, Time now);
  // Others have ended.
  void keep_only(const std::vector<Pid>& pids);
  // When the next of them is due, `latest` if none is before.
  Time next(Time latest) const;

 private:
  struct Turn {
    Pace pace;
    Time begin{};  // of its program; with its first labels, they are the beginning
    Time due{};
    bool labelled = false;    // had labels once
    std::uint64_t taken = 0;  // since then
    std::uint64_t program = 0;
  };

  std::uint64_t samples_;
  std::chrono::nanoseconds span_;
  std::map<Pid, Turn> turns_;
};

}  // namespace labelscope::cli
