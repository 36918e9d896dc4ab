// Divides an SQL statement into tokens, as the server does that got it. A fingerprint copies names,
// keywords and operators and nothing else (fingerprint.h), so the lexer must know of each byte
// whether it belongs to one of these. What it does not know is a value, or the end of the text:
//
//   SELECT /* why */ name , 'it''s' , 0x1f FROM `order` WHERE a -- b
//   word   gap       word operator...
//                           value     value     name              end: the line is not complete
//
// Settings of the server that labelscope does not know decide where some tokens end. If the guess
// were wrong, literals and statement would be exchanged from there on. So the lexer does what is
// right for each of them, or ends there:
//
//   text                     what decides                         what is done
//   'a\' b                   sql_mode, or PostgreSQL's            the text ends; 'a\\' is the same
//                            standard_conforming_strings          in either case, and goes on
//   /*!50000 a */, /*+ a */  the version: a comment, or not       a comment, if its end is the same
//                                                                 for both; else the text ends
//   `<e5><90><8d>` b         the client's character set: in GBK   it goes on, and ends before the
//                            and SJIS, the mark may be half of    next mark: until there, the other
//                            a character                          reading is in a name
//   --<a0>                   the same: in latin1, <a0> is blank   the text ends
//
// Whatever the server itself would refuse ends the text, too: it cannot be known what was meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace labelscope {

enum class SqlDialect {
  kStandard,  // PostgreSQL: "name", 'text', E'text', $tag$text$tag$, nested comments
  kMysql,     // MySQL and MariaDB: `name`, 'text', "text", @variable, # begins a comment
};

enum class SqlKind {
  kGap,       // blanks, or one comment
  kWord,      // a keyword or a name without marks
  kName,      // a name in marks
  kOperator,  // one character of an operator; @@
  kValue,     // a number, text, parameter or variable, or a word that may be none
  kEnd,       // the end of the text, or of what is sure
};

struct SqlToken {
  SqlKind kind = SqlKind::kEnd;
  std::string_view text;
};

class SqlLexer {
 public:
  SqlLexer(std::string_view text, SqlDialect dialect);

  // Returns kEnd from the end on.
  SqlToken next();

  // Whether the text has ended before its last byte, or within a token.
  bool was_cut() const { return was_cut_; }

 private:
  SqlKind take();
  SqlKind take_line();
  SqlKind take_comment();
  SqlKind take_text(char mark);
  SqlKind take_escaped_text();
  SqlKind take_name(char mark);
  SqlKind take_dollar();
  SqlKind take_number();
  SqlKind take_variable();
  SqlKind take_word();

  SqlKind cut(SqlKind kind);
  bool comes(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool is_exponent(std::size_t begin) const;

  std::string_view text_;
  std::size_t at_ = 0;
  bool mysql_;
  bool was_cut_ = false;
  SqlKind last_ = SqlKind::kGap;
};

}  // namespace labelscope
