// The fingerprint of an SQL statement is what the server's lexer says it is made of: keywords,
// names and operators, with ? for each number, text, parameter and variable, one blank for many,
// and no comments. Two executions of one statement have the same fingerprint, and no literal is in
// it. What somebody has typed into a form is one, unless the application makes names of it.
//
// The lexer (sql_lexer.h) knows what is a word and what is a value. Some words are values, too:
//
//   SET app.token = word          the rest of the statement is one ?. So it is after TO, ROLE,
//                                 AUTHORIZATION and ZONE, and in ALTER ... SET and CREATE ... SET
//   CREATE USER name ...          the rest is one ?. So it is with ALTER, DROP and RENAME, and with
//                                 ROLE and GROUP
//   LISTEN word                   the rest is one ?. So it is with UNLISTEN and NOTIFY
//   GRANT ... IDENTIFIED BY word  the rest is one ?
//
// Other words are copied. A name with more than eight digits in a row is a ?, and so is a name that
// is no UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "sources/preset/sql_lexer.h"

namespace labelscope {

std::string statement_fingerprint(std::string_view statement, SqlDialect dialect);

}  // namespace labelscope
