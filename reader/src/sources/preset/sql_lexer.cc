#include "sources/preset/sql_lexer.h"

#include <algorithm>

#include "base/text.h"

namespace labelscope {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_high(c);
}
bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '$'; }
bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

// Numbers of cards, accounts and telephones have nine digits and more; a date has eight.
constexpr std::size_t kMostDigits = 8;

// A char is signed on x86-64, and not on aarch64.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7f;
}

// Names are what people choose for a table. UTF-8 that has no control characters, and none of the
// blanks and signs beyond ASCII that are pasted by mistake, can be one.
bool is_likely_name(std::string_view name) {
  std::size_t digits = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    const std::string_view rest = name.substr(at);
    digits = is_digit(c) ? digits + 1 : 0;
    if (digits > kMostDigits || is_control(c)) return false;
    // U+0080 to U+00BF, but for the letters among them; U+2000 to U+207F; U+3000; U+FEFF.
    if (c == '\xc2' && rest.size() > 1 && !is_one_of(rest[1], "\xaa\xb5\xba")) return false;
    for (const char* blank : {"\xe2\x80", "\xe2\x81", "\xe3\x80\x80", "\xef\xbb\xbf"}) {
      if (rest.starts_with(blank)) return false;
    }
  }
  return is_utf8(name);
}

bool has_two_dollars(std::string_view text) { return std::ranges::count(text, '$') > 1; }

}  // namespace

// Both servers stop at a NUL, but not in all of their tokens.
SqlLexer::SqlLexer(std::string_view text, SqlDialect dialect)
    : text_(text.substr(0, text.find('\0'))), mysql_(dialect == SqlDialect::kMysql) {
  was_cut_ = text_.size() != text.size();
}

SqlToken SqlLexer::next() {
  if (at_ == text_.size()) return {};
  const std::string_view whole = text_;
  const std::size_t begin = at_;
  last_ = take();
  if (last_ == SqlKind::kEnd) return {};
  return {last_, whole.substr(begin, at_ - begin)};
}

// Ends the text. What was begun is a token of this kind.
SqlKind SqlLexer::cut(SqlKind kind) {
  at_ = text_.size();
  was_cut_ = true;
  return kind;
}

SqlKind SqlLexer::take() {
  const char c = peek();
  if (is_blank(c)) {
    while (is_blank(peek())) ++at_;
    return SqlKind::kGap;
  }
  if (comes("--")) {
    if (!mysql_) return take_line();
    // Here `b--5` is a subtraction: a comment has a blank or a control character behind the marks.
    if (is_high(peek(2))) return cut(SqlKind::kEnd);
    if (peek(2) <= ' ' || peek(2) == '\x7f') return take_line();
  }
  if (comes("/*")) return take_comment();
  if (c == '\'' || (mysql_ && c == '"')) return take_text(c);
  if (c == (mysql_ ? '`' : '"')) return take_name(c);
  if (is_digit(c) ||
      (c == '.' && is_digit(peek(1)) && last_ != SqlKind::kWord && last_ != SqlKind::kName)) {
    return take_number();
  }
  if (c == '$' && !mysql_) return take_dollar();
  if (in_word(c)) return take_word();
  if (mysql_) {
    if (c == '#') return take_line();
    if (c == '@') return take_variable();
    if (c == '?' || comes("\\N")) {
      at_ += c == '?' ? 1 : 2;
      return SqlKind::kValue;
    }
  }
  if (!is_one_of(c, mysql_ ? ",()[].;:+-*/%^<>=~!&|{}" : ",()[].;:+-*/%^<>=~!&|@#?`")) {
    return cut(SqlKind::kEnd);
  }
  ++at_;
  return SqlKind::kOperator;
}

// A comment to the end of its line.
SqlKind SqlLexer::take_line() {
  const std::size_t end = text_.find_first_of(mysql_ ? "\n" : "\n\r", at_);
  if (end == std::string_view::npos) return cut(SqlKind::kEnd);
  at_ = end + 1;
  return SqlKind::kGap;
}

// Comments nest in PostgreSQL, and end with the first mark in MySQL.
SqlKind SqlLexer::take_comment() {
  const std::size_t begin = at_ + 2;
  std::size_t depth = 1;
  for (at_ = begin; depth != 0; at_ += 2) {
    at_ = text_.find_first_of("*/", at_);
    if (at_ == std::string_view::npos || at_ + 1 == text_.size()) return cut(SqlKind::kEnd);
    if (comes("*/")) {
      --depth;
    } else if (comes("/*") && !mysql_) {
      ++depth;
    } else {
      --at_;  // one character further, not two
    }
  }
  const std::string_view inside = text_.substr(begin, at_ - 2 - begin);
  if (mysql_ && (inside.starts_with("!") || inside.starts_with("M!") || inside.starts_with("+"))) {
    SqlLexer statement(inside.substr(inside.find_first_of("!+") + 1), SqlDialect::kMysql);
    while (statement.next().kind != SqlKind::kEnd) {
    }
    // In one that is not executed, others nest.
    if (statement.was_cut() || inside.find("/*") != inside.npos) return cut(SqlKind::kEnd);
  }
  return SqlKind::kGap;
}

// A text ends with its mark; twice the mark is one in it.
SqlKind SqlLexer::take_text(char mark) {
  const std::size_t begin = at_ + 1;
  for (std::size_t end = begin;; end += 2) {
    end = text_.find(mark, end);
    if (end == std::string_view::npos) return cut(SqlKind::kValue);
    std::size_t slashes = end;
    while (slashes > begin && text_[slashes - 1] == '\\') --slashes;
    const std::size_t count = end - slashes;
    // An even number escapes the mark in neither case, unless one is the half of a character.
    const bool is_half = mysql_ && count > 0 && slashes > begin && is_high(text_[slashes - 1]);
    if (count % 2 != 0 || is_half) return cut(SqlKind::kValue);
    if (end + 1 < text_.size() && text_[end + 1] == mark) continue;
    at_ = end + 1;
    return SqlKind::kValue;
  }
}

// The text of E'...', where a backslash escapes in each case.
SqlKind SqlLexer::take_escaped_text() {
  for (++at_; at_ < text_.size(); ++at_) {
    if (peek() == '\\' || comes("''")) {
      ++at_;
    } else if (peek() == '\'') {
      ++at_;
      return SqlKind::kValue;
    }
  }
  at_ = text_.size();
  return cut(SqlKind::kValue);
}

SqlKind SqlLexer::take_name(char mark) {
  const bool may_be_half = mysql_ && at_ > 0 && is_high(text_[at_ - 1]);
  if (may_be_half) return cut(SqlKind::kEnd);
  const std::size_t begin = at_ + 1;
  for (std::size_t end = begin;; end += 2) {
    end = text_.find(mark, end);
    if (end == std::string_view::npos) return cut(SqlKind::kEnd);
    const bool is_double = end + 1 < text_.size() && text_[end + 1] == mark;
    const bool is_half = mysql_ && end > begin && is_high(text_[end - 1]);
    if (is_half && is_double) return cut(SqlKind::kEnd);
    if (is_double) continue;
    at_ = end + 1;
    const bool is_likely = is_likely_name(text_.substr(begin, end - begin));
    if (is_half) {
      const std::size_t next = std::min(text_.find(mark, at_), text_.size());
      was_cut_ |= next < text_.size();
      text_ = text_.substr(0, next);
    }
    return is_likely ? SqlKind::kName : SqlKind::kValue;
  }
}

// $1 is a parameter, $$text$$ and $tag$text$tag$ are texts.
SqlKind SqlLexer::take_dollar() {
  const std::size_t begin = at_++;
  const bool is_parameter = is_digit(peek());
  while (is_letter(peek()) || is_digit(peek())) ++at_;
  if (is_parameter) return SqlKind::kValue;
  if (peek() != '$') return cut(SqlKind::kEnd);
  const std::string_view tag = text_.substr(begin, ++at_ - begin);
  const std::size_t end = text_.find(tag, at_);
  if (end == std::string_view::npos) return cut(SqlKind::kValue);
  at_ = end + tag.size();
  return SqlKind::kValue;
}

// Whether the sign that comes belongs to a number that began there: 1.5e-3.
bool SqlLexer::is_exponent(std::size_t begin) const {
  if (!is_one_of(peek(), "+-") || !is_digit(peek(1)) || !is_one_of(text_[at_ - 1], "eE")) {
    return false;
  }
  const std::string_view before = text_.substr(begin, at_ - 1 - begin);
  return before.find_first_not_of("0123456789_.") == std::string_view::npos;
}

// Whatever begins with a digit is a number: 0x1f, 1_000, 1e5, and also names like 1st in MySQL.
SqlKind SqlLexer::take_number() {
  const std::size_t begin = at_;
  while (is_letter(peek()) || is_digit(peek()) || peek() == '.' || (mysql_ && peek() == '$') ||
         is_exponent(begin)) {
    ++at_;
  }
  return has_two_dollars(text_.substr(begin, at_ - begin)) ? cut(SqlKind::kValue) : SqlKind::kValue;
}

// @name, @'name' and user@host; @@name is a setting of the server.
SqlKind SqlLexer::take_variable() {
  if (comes("@@")) {
    at_ += 2;
    return SqlKind::kOperator;
  }
  ++at_;
  if (is_one_of(peek(), "'\"") && at_ < text_.size()) return take_text(peek());
  if (peek() == '`') {
    const SqlKind name = take_name('`');
    return name == SqlKind::kEnd ? name : SqlKind::kValue;
  }
  while (in_word(peek()) || peek() == '.') ++at_;
  return SqlKind::kValue;
}

SqlKind SqlLexer::take_word() {
  const std::size_t begin = at_;
  while (in_word(peek())) ++at_;
  const std::string_view word = text_.substr(begin, at_ - begin);
  const char initial = word.size() == 1 ? static_cast<char>(word[0] & ~0x20) : '\0';
  if (peek() == '\'') {
    if (initial == 'E' && !mysql_) return take_escaped_text();
    if (is_one_of(initial, "BNX") && initial != '\0') return take_text('\'');
  }
  if (!mysql_ && initial == 'U' && peek() == '&' && is_one_of(peek(1), "'\"") && peek(1) != '\0') {
    ++at_;
    if (peek() == '\'') return take_text('\'');
    const SqlKind name = take_name('"');
    return name == SqlKind::kEnd ? name : SqlKind::kValue;
  }
  const bool mark_follows = peek() == '\'' || peek() == '"';
  if (mysql_ && word[0] == '_' && mark_follows) return take_text(peek());  // _utf8mb4'text'
  // PostgreSQL takes a$$b$$ for one name, which hardly anybody means. MySQL 9 has such texts.
  if (has_two_dollars(word)) return cut(SqlKind::kEnd);
  if (!is_likely_name(word) || word[0] == '$') return SqlKind::kValue;
  // A character beyond ASCII is a blank in some character sets, and then a number follows it.
  const auto is_number = [](char one, char next) { return is_high(one) && is_digit(next); };
  const bool may_be_number = mysql_ && std::ranges::adjacent_find(word, is_number) != word.end();
  return may_be_number ? SqlKind::kValue : SqlKind::kWord;
}

}  // namespace labelscope
