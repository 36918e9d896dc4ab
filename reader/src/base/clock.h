// The clock by which samples, mappings and waits have their times.
#pragma once

#include <chrono>
#include <cstdint>

namespace labelscope {

// CLOCK_MONOTONIC, which is std::chrono::steady_clock on Linux.
inline std::uint64_t monotonic_ns() {
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(now.count());
}

}  // namespace labelscope
