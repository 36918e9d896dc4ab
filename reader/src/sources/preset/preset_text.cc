#include "sources/preset/preset_text.h"

#include <algorithm>
#include <charconv>

namespace labelscope {
namespace {

constexpr std::size_t kMostName = 64;

}  // namespace

Result<PresetWords> PresetWords::split(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  PresetWords words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty() || line[0] == '#') return words;
    if (line[0] == '"') {
      const std::size_t end = line.find('"', 1);
      if (end == std::string_view::npos) return malformed("a \" has no other one behind it");
      words.all_.push_back({line.substr(1, end - 1), true});
      line.remove_prefix(end + 1);
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.all_.push_back({line.substr(0, end), false});
    line.remove_prefix(end);
  }
}

bool is_preset_name(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= kMostName && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  });
}

Status take_number(std::string_view& rest, PresetNumber& number) {
  if (take(rest, "$")) {
    std::size_t size = 0;
    while (size < rest.size() && is_preset_name(rest.substr(size, 1), "_")) ++size;
    number.parameter = rest.substr(0, size);
    rest.remove_prefix(size);
    if (size == 0) return malformed("behind $ the name of a parameter is wanted");
    return {};
  }
  const bool negative = take(rest, "-");
  const bool hexadecimal = take(rest, "0x");
  std::uint64_t value = 0;
  const auto [end, problem] =
      std::from_chars(rest.data(), rest.data() + rest.size(), value, hexadecimal ? 16 : 10);
  if (problem != std::errc() || value > INT64_MAX) {
    return malformed("a number is wanted, not " + in_quotes(rest.substr(0, 40)));
  }
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  number.value = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return {};
}

Result<PresetNumber> whole_number(std::string_view text) {
  PresetNumber number;
  const std::string_view all = text;
  if (Status taken = take_number(text, number); !taken) return std::move(taken).error();
  if (!text.empty()) return malformed(in_quotes(all) + " is no number");
  return number;
}

}  // namespace labelscope
