// Escapes text, and counts its columns, by utf8proc.
#include "cli/text/escape.h"

#include <utf8proc.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace labelscope::cli {
namespace {

constexpr char32_t kDelete = 0x7F;

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // in bytes; 0 if no valid character starts here
};

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// Decodes strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
Character decode_utf8(std::string_view bytes) {
  const unsigned first = byte_at(bytes, 0);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t code = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                       static_cast<utf8proc_ssize_t>(bytes.size()), &code);
  if (length < 1) return {};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(length)};
}

void append_byte_escape(std::string& out, char byte) {
  out += "\\x" + hex_bytes(std::as_bytes(std::span(&byte, 1)));
}

bool between(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

// Returns whether the character is invisible and at least as wide as a space.
bool is_space(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ZS;
}

// Characters beyond ASCII that move the cursor, change the direction of text, break the line, or
// are invisible and can carry a second text (tag characters) or make two texts look the same.
// Joiners (200C, 200D) are not among them: some languages are written with them.
bool is_unsafe_character(char32_t code) {
  return between(code, 0x80, 0x9F) || code == 0xAD || code == 0x061C || code == 0x180E ||
         code == 0x200B || code == 0x200E || code == 0x200F || between(code, 0x2028, 0x202E) ||
         between(code, 0x2060, 0x2064) || between(code, 0x2066, 0x2069) || code == 0xFEFF ||
         between(code, 0xFFF9, 0xFFFB) || between(code, 0xE0000, 0xE007F);
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

bool is_printable_ascii(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::string escape_terminal(std::string_view bytes) {
  if (is_printable_ascii(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = decode_utf8(bytes);
    const std::size_t length = std::max<std::size_t>(character.length, 1);
    if (character.length == 0 || character.code < 0x20 || character.code == kDelete) {
      append_byte_escape(out, bytes[0]);
    } else if (is_unsafe_character(character.code)) {
      out += "\\u{" + hex(character.code).substr(2) + '}';
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return out;
}

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
      append_byte_escape(out, safe[i]);
    } else {
      out += safe[i];
    }
  }
  return out;
}

std::string escape_xml(std::string_view safe) {
  std::string out;
  out.reserve(safe.size());
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const std::string_view rest = safe.substr(i);
    switch (safe[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // These are U+FFFE and U+FFFF, which XML 1.0 forbids (section 2.2).
        if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
          out += rest[2] == '\xBE' ? "\\u{fffe}" : "\\u{ffff}";
          i += 2;
        } else {
          out += safe[i];
        }
    }
  }
  return out;
}

std::string escape_file_name(std::string_view bytes) {
  // This leaves room for the rest of a name below the 255 bytes that file systems allow.
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

std::string without_middle(std::string_view text, std::size_t most) {
  // What is left out must be longer than the remark that says so.
  constexpr std::size_t kRemark = 48;
  if (text.size() <= most + kRemark) return std::string(text);
  const auto within = [&](std::size_t at) { return (byte_at(text, at) & 0xC0) == 0x80; };
  std::size_t begin = most * 3 / 4;
  std::size_t end = text.size() - most / 4;
  while (begin > 0 && within(begin)) --begin;
  while (end < text.size() && within(end)) ++end;
  return std::string(text.substr(0, begin)) + " [... " + std::to_string(end - begin) +
         " bytes are left out here ...] " + std::string(text.substr(end));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t more) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines{std::string(text.substr(0, indent))};
  std::size_t length = indent;
  bool begun = false;  // the line has a word already
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
