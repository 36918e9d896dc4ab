// Strict UTF-8 and the escapes built on it.
#include "cli/format/escape.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace labelscope::cli {
namespace {

constexpr char32_t kDelete = 0x7F;

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // bytes; 0 where no valid character starts
};

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// The Unicode standard's table 3-7: the range of the second byte depends on the first, which is
// what shuts out overlong forms (C0, C1, E0 80..9F, F0 80..8F), surrogates (ED A0..BF) and F4 90
// upwards.
Character decode_utf8(std::string_view bytes) {
  const unsigned first = byte_at(bytes, 0);
  if (first < 0x80) return {first, 1};
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  char32_t code = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
    code = first & 0x1F;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    code = first & 0x0F;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    code = first & 0x07;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || bytes.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte_at(bytes, i);
    if (next < low || next > high) return {};
    code = code << 6 | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length};
}

void append_byte_escape(std::string& out, unsigned byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 0xF];
}

void append_character_escape(std::string& out, char32_t code) {
  std::array<char, 8> digits;
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                           static_cast<std::uint32_t>(code), 16);
  out += "\\u{";
  out.append(digits.data(), end.ptr);
  out += '}';
}

bool between(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

// Beyond ASCII: as wide as a space or wider, with nothing to see (Unicode's category Zs).
bool is_space(char32_t code) {
  return code == ' ' || code == 0xA0 || code == 0x1680 || between(code, 0x2000, 0x200A) ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

// Beyond ASCII: what moves the cursor, changes the direction of text, breaks the line, or is
// invisible and can carry a second text (tag characters) or make two texts look the same. Joiners
// (200C, 200D) are part of how some languages are written.
bool is_unsafe_character(char32_t code) {
  return between(code, 0x80, 0x9F) || code == 0xAD || code == 0x061C || code == 0x180E ||
         code == 0x200B || code == 0x200E || code == 0x200F || between(code, 0x2028, 0x202E) ||
         between(code, 0x2060, 0x2064) || between(code, 0x2066, 0x2069) || code == 0xFEFF ||
         between(code, 0xFFF9, 0xFFFB) || between(code, 0xE0000, 0xE007F);
}

// One pass for both escapes: bytes outside UTF-8 always go, and unsafe characters if
// `for_terminal`.
std::string escape(std::string_view bytes, bool for_terminal) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = decode_utf8(bytes);
    if (character.length == 0) {
      append_byte_escape(out, byte_at(bytes, 0));
      bytes.remove_prefix(1);
      continue;
    }
    if (for_terminal && (character.code < 0x20 || character.code == kDelete)) {
      append_byte_escape(out, character.code);
    } else if (for_terminal && is_unsafe_character(character.code)) {
      append_character_escape(out, character.code);
    } else {
      out.append(bytes.substr(0, character.length));
    }
    bytes.remove_prefix(character.length);
  }
  return out;
}

std::size_t columns_of(const Character& character) {
  if (character.code < kDelete) return 1;
  return static_cast<std::size_t>(
      std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(character.code))));
}

bool is_file_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = decode_utf8(bytes).length;
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string escape_utf8(std::string_view bytes) { return escape(bytes, false); }

std::string escape_terminal(std::string_view bytes) { return escape(bytes, true); }

std::string quote_terminal(std::string_view bytes) {
  std::string marked;
  marked.reserve(bytes.size() + 2);
  for (char c : bytes) {
    if (c == '"' || c == '\\') marked += '\\';
    marked += c;
  }
  return '"' + escape_terminal(marked) + '"';
}

bool needs_quotes(std::string_view bytes) {
  if (bytes.empty()) return true;
  while (!bytes.empty()) {
    const Character character = decode_utf8(bytes);
    if (character.code == '"' || character.code == '\\' || is_space(character.code)) return true;
    bytes.remove_prefix(std::max<std::size_t>(character.length, 1));
  }
  return false;
}

std::string escape_folded(std::string_view bytes) {
  if (bytes.empty()) return std::string(kEmptyText);
  const std::string safe = escape_terminal(bytes);
  std::string out;
  out.reserve(safe.size());
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const bool at_edge = i == 0 || i + 1 == safe.size();
    if (safe[i] == ';' || (safe[i] == ' ' && at_edge)) {
      append_byte_escape(out, byte_at(safe, i));
    } else {
      out += safe[i];
    }
  }
  return out;
}

std::string escape_file_name(std::string_view bytes) {
  // Leaves room for the rest of a name below the 255 bytes that file systems allow.
  constexpr std::size_t kMaxBytes = 128;
  std::string out(bytes.substr(0, kMaxBytes));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_file_name_character(c); }, '_');
  if (out.empty()) return "_";
  if (out[0] == '.' || out[0] == '-') out[0] = '_';
  return out;
}

std::string_view first_columns(std::string_view utf8, std::size_t limit) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const Character character = decode_utf8(utf8.substr(at));
    columns += columns_of(character);
    if (columns > limit) return utf8.substr(0, at);
    at += std::max<std::size_t>(character.length, 1);
  }
  return utf8;
}

std::size_t count_columns(std::string_view utf8) {
  std::size_t columns = 0;
  while (!utf8.empty()) {
    const Character character = decode_utf8(utf8);
    columns += columns_of(character);
    utf8.remove_prefix(std::max<std::size_t>(character.length, 1));
  }
  return columns;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t more) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines{std::string(text.substr(0, indent))};
  std::size_t length = indent;
  bool begun = false;  // the line has a word
  for (std::string_view rest = text.substr(indent); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' ', 1), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    if (width > 0 && begun && length + count_columns(word) > width) {
      lines.emplace_back(indent + more, ' ');
      length = indent + more;
      word.remove_prefix(1);
    }
    lines.back() += word;
    length += count_columns(word);
    begun = true;
  }
  return lines;
}

}  // namespace labelscope::cli
