// Parts of the texts of all commands: counts, times, colours.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

#include "base/text.h"  // also declares hex() and base_name()
#include "labelscope/result.h"

namespace labelscope::cli {

// Returns "1 file" or "3 files".
inline std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// Makes "cannot write out.folded: No space left on device".
inline std::string cannot_write(const std::string& what, int errno_value) {
  return "cannot write " + what +
         (errno_value == 0 ? std::string() : std::string(": ") + std::strerror(errno_value)) +
         (errno_value == EFBIG ? " (ulimit -f bounds it)" : "");
}

// Every rendering ends with this check whether the stream has taken all of it.
inline Status flush_output(std::ostream& out) {
  out.flush();
  if (out) return {};
  return Error{ErrorCode::kSystem,
               "the output did not take every byte (a full disk, or a reader that went away)"};
}

// Returns "1,234,567".
inline std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// Returns "12.3".
inline std::string decimal(double value, int places) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

// Returns "30 s" or "0.3 s".
inline std::string seconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  if (const auto rest = time.count() % 1000; rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

// The codes are Select Graphic Rendition (ECMA-48).
inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kRed = "\x1b[1;31m";
inline constexpr std::string_view kGreen = "\x1b[1;32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kBoldYellow = "\x1b[1;33m";
inline constexpr std::string_view kCyan = "\x1b[36m";

inline std::string paint(bool color, std::string_view style, std::string text) {
  if (!color || style.empty() || text.empty()) return text;
  return std::string(style) + text + "\x1b[0m";
}

}  // namespace labelscope::cli
