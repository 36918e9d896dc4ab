// The fingerprint of an SQL statement is its text with ? for each number and each text, one blank
// for many, and no comments. Two executions of one statement have the same fingerprint, and nothing
// that somebody has typed into a form is in it.
//
// Where it is not sure what is text, the rest of the statement is left out. A backslash before the
// mark that may end a text is such a place: whether it escapes the mark depends on the server's
// settings (sql_mode, standard_conforming_strings), and if the guess was wrong, what is text and
// what is statement would be exchanged from there on.
#pragma once

#include <string>
#include <string_view>

namespace labelscope {

enum class SqlDialect {
  kStandard,  // PostgreSQL: "name", 'text', $tag$text$tag$, nested comments
  kMysql,     // MySQL and MariaDB: `name`, 'text', "text", # begins a comment
};

std::string statement_fingerprint(std::string_view statement, SqlDialect dialect);

}  // namespace labelscope
