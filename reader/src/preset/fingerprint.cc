#include "preset/fingerprint.h"

#include <cstddef>

namespace labelscope {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Fingerprint {
 public:
  Fingerprint(std::string_view statement, SqlDialect dialect)
      : rest_(statement), mysql_(dialect == SqlDialect::kMysql) {}

  std::string make() {
    while (!rest_.empty()) step();
    while (made_.ends_with(' ')) made_.pop_back();
    return std::move(made_);
  }

 private:
  void step() {
    const char c = rest_.front();
    if (is_blank(c)) {
      if (!made_.empty() && made_.back() != ' ') made_ += ' ';
      rest_.remove_prefix(1);
    } else if (rest_.starts_with("--") || (mysql_ && c == '#')) {
      skip_past("\n", 1);
    } else if (rest_.starts_with("/*")) {
      skip_comment();
    } else if (c == '\'' || (mysql_ && c == '"')) {
      skip_text(c);
    } else if (c == (mysql_ ? '`' : '"')) {
      copy_name(c);
    } else if (c == '$' && !mysql_ && !follows_word() && tag_size() > 0) {
      const std::string tag(rest_.substr(0, tag_size()));
      skip_past(tag, tag.size());
      add_value();
    } else if (is_digit(c) && !follows_word()) {
      while (!rest_.empty() && (in_word(rest_.front()) || rest_.front() == '.'))
        rest_.remove_prefix(1);
      add_value();
    } else {
      made_ += c;
      rest_.remove_prefix(1);
    }
  }

  bool follows_word() const { return !made_.empty() && in_word(made_.back()); }

  void skip_past(std::string_view what, std::size_t from) {
    const std::size_t end = rest_.find(what, from);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + what.size());
  }

  // A list of values is as good as one.
  void add_value() {
    if (made_.ends_with("?, ")) {
      made_.resize(made_.size() - 2);
    } else if (made_.ends_with("?,")) {
      made_.resize(made_.size() - 1);
    } else {
      made_ += '?';
    }
  }

  // MySQL's comments do not nest. If these are taken for nested ones, more is left out, not less.
  void skip_comment() {
    std::size_t depth = 0;
    while (!rest_.empty()) {
      if (rest_.starts_with("/*")) {
        ++depth;
        rest_.remove_prefix(2);
      } else if (rest_.starts_with("*/")) {
        rest_.remove_prefix(2);
        if (--depth == 0) return;
      } else {
        rest_.remove_prefix(1);
      }
    }
  }

  void skip_text(char mark) {
    add_value();
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && rest_.starts_with(mark)) {
        rest_ = {};
      } else if (c == mark) {
        if (!rest_.starts_with(mark)) return;
        rest_.remove_prefix(1);  // twice: one mark within the text
      }
    }
  }

  // A name in marks may have blanks, digits and other marks in it.
  void copy_name(char mark) {
    const std::size_t end = rest_.find(mark, 1);
    if (end != std::string_view::npos) made_ += rest_.substr(0, end + 1);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  }

  // Returns the size of $tag$ or $$ at the beginning of the rest, or 0.
  std::size_t tag_size() const {
    std::size_t size = 1;
    while (size < rest_.size() && in_word(rest_[size]) && rest_[size] != '$') ++size;
    const bool is_parameter = size > 1 && is_digit(rest_[1]);
    return size < rest_.size() && rest_[size] == '$' && !is_parameter ? size + 1 : 0;
  }

  std::string made_;
  std::string_view rest_;
  bool mysql_;
};

}  // namespace

std::string statement_fingerprint(std::string_view statement, SqlDialect dialect) {
  return Fingerprint(statement, dialect).make();
}

}  // namespace labelscope
