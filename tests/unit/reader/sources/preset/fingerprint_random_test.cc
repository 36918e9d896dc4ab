// Makes statements at random, with every kind of text, number, comment and name that a server has,
// under each of its settings, and lets the fingerprint find the secrets in them.
//
// Whatever is no name, keyword or operator has the marks Z, z, Q, q, 7, 8 and 9, one beside each
// sign that could mislead. Nothing else has them. So a mark in the fingerprint is a secret.
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/preset/fingerprint.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

constexpr std::string_view kMarks = "ZzQq789";

// What a server was told, and labelscope does not know.
struct Settings {
  bool backslash = false;  // it escapes in '...': no NO_BACKSLASH_ESCAPES, or no standard strings
  bool gbk = false;        // the client's character set, of MySQL
  bool executes = false;   // /*! is a statement
};

class Statements {
 public:
  Statements(SqlDialect dialect, std::uint64_t seed)
      : random_(seed), mysql_(dialect == SqlDialect::kMysql) {}

  std::string next() {
    settings_ = {coin(), mysql_ && coin(), mysql_ && coin()};
    std::string made = "SELECT";
    for (std::uint64_t i = below(8); i-- > 0;) join(made, token());
    if (below(16) == 0) {
      made += gap() + ";" + gap();
      made += pick({"SET aa.b" + gap() + "=" + gap() + "zq",
                    "SET aa" + gap(true) + "TO" + gap(true) + "qz",
                    "CREATE" + gap(true) + "USER" + gap(true) + "qz", "LISTEN" + gap(true) + "zq"});
    } else {
      join(made, "the_end");
    }
    if (below(4) == 0) made.resize(below(made.size()));
    return made;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool coin() { return below(2) == 0; }
  std::string pick(const std::vector<std::string>& of) { return of[below(of.size())]; }

  std::string marks() {
    std::string made;
    for (std::uint64_t i = 1 + below(3); i-- > 0;) made += kMarks[below(kMarks.size())];
    return made;
  }
  std::string digits() {
    std::string made;
    for (std::uint64_t i = 1 + below(4); i-- > 0;) made += static_cast<char>('7' + below(3));
    return made;
  }

  // What may be in any text, and means nothing there.
  std::string sign() {
    std::string made =
        pick({"--", "-- ", "/*", "*/", "/*!",          "#",        "$$", "$t$", "\"", "`", "'", ";",
              "\n", "\r",  ",",  "=",  "\xe5\x90\x8d", "\xc3\xa9", "@",  "E",   "u&", "\t"});
    if (settings_.gbk && below(4) == 0) made = pick({"\x8d\x5c", "\x81\x60", "\xe5\x90"});
    return made;
  }

  // What is between the marks of a text.
  std::string inside(char mark, bool backslash) {
    std::string made = marks();
    for (std::uint64_t i = below(4); i-- > 0;) {
      std::string one = below(4) == 0 ? "\\" : sign();
      if (one == "\\" && backslash) one += pick({"\\", "'", "n", "\"", "\n"});
      if (one == std::string(1, mark)) one += mark;
      made += one;
      if (below(4) != 0) made += marks();
    }
    return made;
  }
  std::string text(char mark, bool backslash) { return mark + inside(mark, backslash) + mark; }

  // Comments are left out, and what is in them may be a secret.
  std::string comment_inside() {
    std::string made = marks();
    for (std::uint64_t i = below(4); i-- > 0;) {
      std::string one = sign();
      if (one.find('*') != one.npos) one = mysql_ ? " /" : "/* " + marks() + " */";
      made += one + marks();
    }
    return made;
  }
  std::string line_inside() {
    std::string made;
    for (std::uint64_t i = below(4); i-- > 0;) {
      const std::string one = sign();
      if (one != "\n" && (mysql_ || one != "\r")) made += one + marks();
    }
    return made;
  }
  // With the server's version it is a part of the statement; without, it is a comment, and in this
  // one others may nest.
  std::string executed() {
    const std::string begin = pick({"/*!", "/*!50000 ", "/*M!100100 "});
    if (!settings_.executes) {
      std::string made = comment_inside();
      if (coin()) made += "/* " + marks() + pick({"'", "\"", "`", ""}) + " */ " + marks();
      return begin + made + " */";
    }
    std::string made = " ";
    for (std::uint64_t i = below(3); i-- > 0;) join(made, literal());
    return begin + made + " */";
  }

  std::string gap(bool is_needed = false) {
    switch (below(is_needed ? 8 : 12)) {
      case 0:
      case 1:
        return " ";
      case 2:
        return pick({"\n", "\t", "\r\n", "  "});
      case 3:
        return "/*" + comment_inside() + "*/";
      case 4:
        return "/**/";
      case 5:
        return (mysql_ ? " -- " : " --") + line_inside() + (mysql_ || coin() ? "\n" : "\r");
      case 6:
        return mysql_ ? "#" + line_inside() + "\n" : "/* /* */ " + marks() + "' */";
      case 7:
        return mysql_ ? executed() : "/* a */ -- b\n";
      default:
        return "";
    }
  }

  std::string literal() {
    const std::string number = digits();
    const std::string plain = text('\'', settings_.backslash);
    std::vector<std::string> all{plain,
                                 number,
                                 number + "." + digits(),
                                 "." + number,
                                 number + "e-" + digits(),
                                 number + "_" + digits(),
                                 "0x" + number,
                                 "x'" + number + "'",
                                 "N" + plain};
    const auto also = [&all](std::string one) { all.push_back(std::move(one)); };
    if (mysql_) {
      const std::string other = text('"', settings_.backslash);
      also(other);
      also("_ucs2" + plain);
      also("_latin1" + other);
      also("@" + marks());
      also("@" + plain);
      also(number + "st");
      also("--" + number);
    } else {
      also("E" + text('\'', true));
      also("E" + text('\'', true) + "\n" + text('\'', true));
      also("U&" + text('\'', false));
      also("$" + number);
      for (const char* tag : {"$$", "$t$", "$\xc3\xa9$"}) also(tag + dollars(tag) + tag);
      also(number + "$$" + dollars("$$") + "$$");
    }
    return pick(all);
  }
  // What is between two tags.
  std::string dollars(std::string_view tag) {
    std::string made = marks();
    for (std::uint64_t i = below(4); i-- > 0;) {
      const std::string one = sign();
      if (one != tag) made += one + marks();
    }
    return made;
  }

  std::string name() {
    if (!mysql_)
      return pick(
          {"\"a\"", "\"it's\"", "\"a\"\"b\"", "\"a--b\"", "\"/*\"", "\"$$\"", "\"\xe5\x90\x8d\""});
    if (settings_.gbk && coin())
      return pick({"`\x8d\x60`", "`a\x81\x60 b`", "`\xe5\x90\x8d\x60`", "`\xe5\x90`"});
    return pick({"`a`", "`it's`", "`a``b`", "`a-- b`", "`/*`", "`#`", "`\"`", "`\\`",
                 settings_.gbk ? "`b`" : "`\xe5\x90\x8d`"});
  }

  std::string token() {
    if (coin()) return literal();
    if (below(4) == 0) return name();
    return pick(
        {"AND", "IN", "LIMIT", "VALUES", "FROM", "WHERE", "aa", "t1.x", "b_c", "=",
         "<",   ">=", "+",     "-",      "(",    ")",     ",",  "||",   "*",   "\xc3\xa9t\xc3\xa9",
         "SET", "TO"});
  }

  static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || static_cast<unsigned char>(c) >= 0x80;
  }
  // Whether two tokens would be another one without a gap.
  bool must_part(char one, char next) const {
    if (one == '.' || next == '.') return true;
    if (in_word(one) && in_word(next)) return true;
    if (one == next && (one == '\'' || one == '"' || one == '`')) return true;
    return one == '@' || next == '@';
  }
  void join(std::string& made, const std::string& token) {
    const char last = made.back();
    std::string between = gap(must_part(last, token.front()));
    // A text behind a line break goes on with the text before it, and with its backslashes.
    if (!mysql_ && last == '\'' && token.front() == '\'') between = ", ";
    // These could begin a comment together with the next character.
    made += last == '-' || last == '*' || last == '/' ? " " : "";
    made += between + token;
  }

  std::mt19937_64 random_;
  bool mysql_;
  Settings settings_;
};

std::uint64_t count() { return std::getenv("LABELSCOPE_THOROUGH") != nullptr ? 1'000'000 : 50'000; }

void let_it_leak(SqlDialect dialect) {
  Statements statements(dialect, 20261128);
  std::uint64_t whole = 0;
  for (std::uint64_t i = 0; i < count(); ++i) {
    const std::string statement = statements.next();
    const std::string made = statement_fingerprint(statement, dialect);
    if (made.find_first_of(kMarks) != made.npos) {
      CAPTURE(i, statement, made);
      FAIL_CHECK("a secret is in the fingerprint");
      return;
    }
    whole += made.ends_with("the_end") ? 1 : 0;
  }
  // Leaving out everything would be no art.
  CHECK(whole > count() / 4);
}

}  // namespace

TEST_CASE("fingerprint: of statements made at random, none keeps a secret (PostgreSQL)") {
  let_it_leak(SqlDialect::kStandard);
}

TEST_CASE("fingerprint: of statements made at random, none keeps a secret (MySQL, MariaDB)") {
  let_it_leak(SqlDialect::kMysql);
}

}  // namespace labelscope::test
