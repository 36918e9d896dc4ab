// Counts, times and errors within sentences.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>

namespace labelscope::cli {

// "1 file", "3 files"
inline std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// "cannot write out.folded: No space left on device"
inline std::string cannot_write(const std::string& what, int errno_value) {
  return "cannot write " + what +
         (errno_value == 0 ? std::string() : std::string(": ") + std::strerror(errno_value));
}

// "1,234,567"
inline std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// "30 s", "0.3 s"
inline std::string seconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  if (const auto rest = time.count() % 1000; rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

}  // namespace labelscope::cli
