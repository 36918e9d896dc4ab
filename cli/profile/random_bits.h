// Random numbers to start from, by the kernel. std::random_device would do, but linked from
// libstdc++'s archive it needs arc4random, and with that the newest glibc of all that the portable
// program needs.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace labelscope::cli {

// Differs from call to call. Not predictable from outside, except in the first moments of a
// kernel's life, when it has no random numbers yet and the time stands in. Any thread.
inline std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof bits)) {
    return bits;
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) ^ (static_cast<std::uint64_t>(getpid()) << 32);
}

}  // namespace labelscope::cli
