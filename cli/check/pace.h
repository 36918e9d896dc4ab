// When to take the next sample: at random moments, so that no program keeps in step with them.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

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

}  // namespace labelscope::cli
