#include "cli/text/escape.h"

#include "base/text.h"
#include "support/catch.h"

using namespace labelscope::cli;
using labelscope::is_utf8;
using namespace std::string_literals;

TEST_CASE("escape: every byte sequence that the Unicode standard calls ill-formed is refused") {
  const std::vector<std::string> refused = {
      "\x80",              // continuation alone
      "\xbf",              //
      "\xc0\x80",          // overlong NUL
      "\xc1\xbf",          // overlong DEL
      "\xe0\x80\x80",      // overlong, three bytes
      "\xe0\x9f\xbf",      //
      "\xf0\x80\x80\x80",  // overlong, four bytes
      "\xf0\x8f\xbf\xbf",  //
      "\xed\xa0\x80",      // first surrogate
      "\xed\xbf\xbf",      // last surrogate
      "\xf4\x90\x80\x80",  // U+110000
      "\xf5\x80\x80\x80",  //
      "\xf8\x88\x80\x80\x80",
      "\xfe",
      "\xff",
      "\xc3",          // cut short
      "\xe2\x82",      //
      "\xf0\x9f\x98",  //
      "\xc3\x28",      // second byte is no continuation
      "\xe2\x28\xa1",  //
      "\xe2\x82\x28",  //
      "\xf0\x9f\x28\x80",
      "ok\xff",
  };
  for (const std::string& bytes : refused) {
    CAPTURE(bytes);
    CHECK_FALSE(is_utf8(bytes));
  }
}

TEST_CASE("escape: the first and the last character of each length are valid UTF-8") {
  for (const std::string& bytes :
       {""s, "\0"s, "\x7f"s, "\xc2\x80"s, "\xdf\xbf"s, "\xe0\xa0\x80"s, "\xed\x9f\xbf"s,
        "\xee\x80\x80"s, "\xef\xbf\xbf"s, "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s}) {
    CAPTURE(bytes);
    CHECK(is_utf8(bytes));
    CHECK_FALSE(is_utf8(bytes + "\xff"));
  }
}

TEST_CASE("escape: bytes outside UTF-8 become hexadecimal, all others stay") {
  CHECK(escape_terminal("caf\xe9 ol\xc3\xa9") == "caf\\xe9 ol\xc3\xa9");
  CHECK(escape_terminal("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(escape_terminal("\xe2\x82") == "\\xe2\\x82");
  CHECK(escape_terminal("a\\xff") == "a\\xff");
}

TEST_CASE("escape: any bytes at all become valid UTF-8 in every form") {
  // This tries all pairs of bytes, with a start of a longer sequence before and after.
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      std::string bytes = "\xe2";
      bytes += static_cast<char>(first);
      bytes += static_cast<char>(second);
      bytes += "\xf0\x9f";
      if (!is_utf8(escape_terminal(bytes)) || !is_utf8(escape_folded(bytes))) {
        FAIL("bytes " << first << ' ' << second);
      }
    }
  }
  CHECK_FALSE(is_utf8("\xe2"));
}

TEST_CASE("escape: nothing that a terminal obeys gets through") {
  CHECK(escape_terminal("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07");
  CHECK(escape_terminal("a\tb\nc\rd\be\x7f"s) == "a\\x09b\\x0ac\\x0dd\\x08e\\x7f");
  CHECK(escape_terminal("\0"s) == "\\x00");
  CHECK(escape_terminal("\x9b"
                        "31m") == "\\x9b31m");
  // CSI and NEL are C1 characters.
  CHECK(escape_terminal("\xc2\x9b"
                        "31m") == "\\u{9b}31m");
  CHECK(escape_terminal("\xc2\x85") == "\\u{85}");
  CHECK(escape_terminal("\xc2\x80\xc2\x9f") == "\\u{80}\\u{9f}");
  CHECK(escape_terminal("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("escape: characters that turn or hide text do not reach a terminal") {
  CHECK(escape_terminal("\xe2\x80\xae"
                        "evil\xe2\x80\xac") == "\\u{202e}evil\\u{202c}");
  CHECK(escape_terminal("\xe2\x81\xa6\xe2\x81\xa9") == "\\u{2066}\\u{2069}");
  CHECK(escape_terminal("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c") == "\\u{200e}\\u{200f}\\u{61c}");
  CHECK(escape_terminal("\xe2\x80\xa8\xe2\x80\xa9") == "\\u{2028}\\u{2029}");
  CHECK(escape_terminal("\xef\xbb\xbf") == "\\u{feff}");
  CHECK(escape_terminal("\xf3\xa0\x81\x81") == "\\u{e0041}");
  CHECK(escape_terminal("a\xe2\x80\x8b\xe2\x81\xa0z") == "a\\u{200b}\\u{2060}z");
}

TEST_CASE("escape: in quotes, the written form says which byte it is") {
  CHECK(quote_terminal("a") == R"("a")");
  CHECK(quote_terminal("") == R"("")");
  CHECK(quote_terminal("\\x1b") == R"("\\x1b")");
  CHECK(quote_terminal("\x1b") == R"("\x1b")");
  CHECK(quote_terminal("\" b=\"") == R"("\" b=\"")");
  for (const char* text : {"", " ", "a b", "\xc2\xa0", "\xe3\x80\x80", "\"", "\\"}) {
    INFO(text);
    CHECK(needs_quotes(text));
  }
  for (const char* text : {"a", "/pay", "\xc3\xa4", "\x1b", "\xff"}) {
    INFO(text);
    CHECK_FALSE(needs_quotes(text));
  }
}

TEST_CASE("escape: ordinary text reaches a terminal as it is") {
  const std::string text =
      "/pay?id=42 gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 a\\b";
  CHECK(escape_terminal(text) == text);
}

TEST_CASE("escape: a folded frame has no separator, no edge space and is never empty") {
  CHECK(escape_folded("a;b") == "a\\x3bb");
  CHECK(escape_folded(" a b ") == "\\x20a b\\x20");
  CHECK(escape_folded(" ") == "\\x20");
  CHECK(escape_folded("  ") == "\\x20\\x20");
  CHECK(escape_folded("a\nb 7") == "a\\x0ab 7");
  CHECK(escape_folded("") == "<empty>");
  CHECK(escape_folded("std::map<int, char>::find") == "std::map<int, char>::find");
}

TEST_CASE("escape: a file name part stays in its folder and is not hidden, empty or an option") {
  CHECK(escape_file_name("nginx: worker") == "nginx__worker");
  CHECK(escape_file_name("../../etc/passwd") == "_._.._etc_passwd");
  CHECK(escape_file_name(".bashrc") == "_bashrc");
  CHECK(escape_file_name("-rf") == "_rf");
  CHECK(escape_file_name("..") == "_.");
  CHECK(escape_file_name("") == "_");
  CHECK(escape_file_name("a\0b"s) == "a_b");
  CHECK(escape_file_name("\xc3\xa9") == "__");
  CHECK(escape_file_name("Az09._-") == "Az09._-");
  CHECK(escape_file_name(std::string(1000, 'x')).size() == 128);
}

TEST_CASE("escape: characters are counted and cut whole") {
  CHECK(count_columns("gr\xc3\xbc\xc3\x9f") == 4);
  CHECK(first_columns("gr\xc3\xbc\xc3\x9f", 3) == "gr\xc3\xbc");
  CHECK(first_columns("abc", 3) == "abc");
  CHECK(first_columns("abc", 0).empty());
  CHECK(first_columns("", 2).empty());
  // A wide character counts two columns; an accent that is added to the letter before it counts
  // none.
  CHECK(count_columns("\xe6\x97\xa5\xe6\x9c\xac") == 4);
  CHECK(count_columns("\xf0\x9f\x98\x80") == 2);
  CHECK(count_columns("e\xcc\x81") == 1);
  CHECK(first_columns("\xe6\x97\xa5\xe6\x9c\xac", 3) == "\xe6\x97\xa5");
  CHECK(first_columns("e\xcc\x81x", 1) == "e\xcc\x81");
}

TEST_CASE("escape: a text that is too long keeps its beginning and its end, in whole characters") {
  CHECK(without_middle("short", 5) == "short");
  const std::string many(1'000'000, 'm');
  const std::string cut = without_middle("begin " + many + " fix", 400);
  CHECK(cut.size() < 500);
  CHECK(cut.starts_with("begin mmm"));
  CHECK(cut.ends_with("mmm fix"));
  CHECK(cut.find(" [... 999610 bytes are left out here ...] ") != std::string::npos);
  std::string wide;
  while (wide.size() < 10'000) wide += "\xe6\x97\xa5";
  for (std::size_t most = 100; most < 112; ++most) CHECK(is_utf8(without_middle(wide, most)));
}
