#include "sources/variable/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/pages.h"
#include "base/text.h"

namespace labelscope {
namespace {

// This is the smallest page size of both processors. The next page may not be mapped.

template <class T>
std::string number_text(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  std::array<char, 64> text{};
  if constexpr (sizeof(T) == 1) {
    return std::to_string(int{value});
  } else {
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string up_to_nul(std::span<const std::byte> bytes) {
  const auto nul = std::ranges::find(bytes, std::byte{0});
  return text_of(bytes.first(static_cast<std::size_t>(nul - bytes.begin())));
}

}  // namespace

std::optional<std::string> value_text(unsigned kind, std::span<const std::byte> bytes) {
  const std::size_t size = bytes.size();
  switch (kind) {
    case LS_VARIABLE_UNSIGNED:
      if (size == 1) return number_text<std::uint8_t>(bytes);
      if (size == 2) return number_text<std::uint16_t>(bytes);
      if (size == 4) return number_text<std::uint32_t>(bytes);
      if (size == 8) return number_text<std::uint64_t>(bytes);
      return std::nullopt;
    case LS_VARIABLE_SIGNED:
      if (size == 1) return number_text<std::int8_t>(bytes);
      if (size == 2) return number_text<std::int16_t>(bytes);
      if (size == 4) return number_text<std::int32_t>(bytes);
      if (size == 8) return number_text<std::int64_t>(bytes);
      return std::nullopt;
    case LS_VARIABLE_FLOAT:
      if (size == 4) return number_text<float>(bytes);
      if (size == 8) return number_text<double>(bytes);
      return std::nullopt;
    case LS_VARIABLE_BOOL:
      if (size != 1) return std::nullopt;
      return bytes[0] == std::byte{0} ? "false" : "true";
    case LS_VARIABLE_HEX:
      return hex_bytes(bytes);
    case LS_VARIABLE_ARRAY:
      return up_to_nul(bytes);
    case LS_VARIABLE_CSTRING:
    case LS_VARIABLE_TEXT:
      if (size == 0 || bytes.back() != std::byte{0}) return std::nullopt;
      return up_to_nul(bytes);
    case LS_VARIABLE_SLICE:
    case LS_VARIABLE_VIEW:
      return text_of(bytes);
    default:
      return std::nullopt;
  }
}

// It goes page by page, because the text may end right before memory that is not there.
std::size_t read_c_string(const MemorySource& memory, Address text,
                          std::span<std::byte, kMostText> out) {
  std::size_t done = 0;
  for (const std::size_t end :
       {std::min<std::size_t>(kMostText, kPage - text % kPage), kMostText}) {
    const auto part = out.subspan(done, end - done);
    if (!part.empty() && !memory.read(text + done, part)) return 0;
    const auto nul = std::ranges::find(part, std::byte{0});
    if (nul != part.end()) return done + static_cast<std::size_t>(nul - part.begin()) + 1;
    done = end;
  }
  out.back() = std::byte{0};
  return kMostText + 1;
}

}  // namespace labelscope
