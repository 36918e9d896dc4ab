// Three bytes to four characters.
#include "cli/format/base64.h"

#include <cstdint>

namespace labelscope::cli {

std::string base64_encode(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool present = i + k < bytes.size();
      group = group << 8 | (present ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      // One byte makes two characters, two make three; the rest is padding.
      const bool present = k < 2 || i + k - 1 < bytes.size();
      out += present ? kAlphabet[group >> (18 - 6 * k) & 0x3F] : '=';
    }
  }
  return out;
}

}  // namespace labelscope::cli
