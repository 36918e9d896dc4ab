// Java's texts as bytes of labels (writer-lib/java/native/utf16.h).
#include "utf16.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"

namespace {

// The bytes of one character by the table of RFC 3629, section 3.
std::string utf8_of(char32_t character) {
  const auto byte = [&](unsigned start, unsigned shift) {
    return static_cast<char>(start | (character >> shift & 0x3F));
  };
  if (character < 0x80) return {static_cast<char>(character)};
  if (character < 0x800) return {byte(0xC0, 6), byte(0x80, 0)};
  if (character < 0x10000)
    return {static_cast<char>(0xE0 | character >> 12), byte(0x80, 6), byte(0x80, 0)};
  return {static_cast<char>(0xF0 | character >> 18), byte(0x80, 12), byte(0x80, 6), byte(0x80, 0)};
}

bool is_surrogate(char32_t character) { return character >= 0xD800 && character < 0xE000; }

// A character, or one surrogate, in units, and what must become of it.
struct Piece {
  std::u16string units;
  std::string bytes;
};

Piece piece_of(char32_t character) {
  if (character >= 0x10000) {
    const char32_t rest = character - 0x10000;
    return {{static_cast<char16_t>(0xD800 + rest / 0x400),
             static_cast<char16_t>(0xDC00 + rest % 0x400)},
            utf8_of(character)};
  }
  return {{static_cast<char16_t>(character)},
          utf8_of(is_surrogate(character) ? 0xFFFD : character)};
}

// Encodes with a limit, and checks that no byte behind it is touched.
std::string encode(const std::u16string& text, std::size_t limit, std::size_t& taken) {
  constexpr unsigned char kUntouched = 0xA5;
  std::vector<unsigned char> bytes(limit + 8, kUntouched);
  const std::vector<std::uint16_t> units(text.begin(), text.end());
  const std::size_t length = utf8_of_utf16(bytes.data(), limit, units.data(), units.size(), &taken);
  REQUIRE(length <= limit);
  for (std::size_t i = limit; i < bytes.size(); ++i) REQUIRE(bytes[i] == kUntouched);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

TEST_CASE("utf16: every character and every single surrogate has its bytes") {
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    const Piece piece = piece_of(character);
    std::size_t taken = 0;
    if (encode(piece.units, 4, taken) == piece.bytes && taken == piece.units.size()) continue;
    FAIL("character " << static_cast<std::uint32_t>(character));
  }
}

TEST_CASE("utf16: a text is cut at the end of a character, at every limit") {
  constexpr char32_t kCharacters[] = {'a',    0,      0x7F,   0x80,    0x7FF,  0x800,
                                      0xD83D, 0xDE00, 0xFFFF, 0x10000, 0x1F600};
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Piece> pieces;
    std::u16string text;
    for (int i = 0; i < 12; ++i) {
      const char32_t next = kCharacters[random() % std::size(kCharacters)];
      // Two halves that stand side by side would be one character.
      if (next == 0xDE00 && !pieces.empty() && pieces.back().units == u"\xD83D") continue;
      pieces.push_back(piece_of(next));
      text += pieces.back().units;
    }
    for (std::size_t limit = 0; limit < 50; ++limit) {
      std::string wanted;
      std::size_t wanted_units = 0;
      for (const Piece& piece : pieces) {
        if (wanted.size() + piece.bytes.size() > limit) break;
        wanted += piece.bytes;
        wanted_units += piece.units.size();
      }
      std::size_t taken = 0;
      REQUIRE(encode(text, limit, taken) == wanted);
      REQUIRE(taken == wanted_units);
      // As many units as there may be bytes are enough of a text.
      REQUIRE(encode(text.substr(0, limit), limit, taken) == wanted);
    }
  }
}
