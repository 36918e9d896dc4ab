// Fingerprints of statements that people write, and of those that mislead a lexer. What must come
// out is by the lexers of the servers' own sources: PostgreSQL's, and that of MySQL and MariaDB.
#include "sources/preset/fingerprint.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace labelscope::test {
namespace {

using namespace std::string_view_literals;

struct Made {
  std::string_view statement;
  std::string_view fingerprint;
};

void check(SqlDialect dialect, const std::vector<Made>& table) {
  for (const Made& row : table) {
    CAPTURE(std::string(row.statement));
    CHECK(statement_fingerprint(row.statement, dialect) == row.fingerprint);
  }
}
void check_postgres(const std::vector<Made>& table) { check(SqlDialect::kStandard, table); }
void check_mysql(const std::vector<Made>& table) { check(SqlDialect::kMysql, table); }
void check_both(const std::vector<Made>& table) {
  check_postgres(table);
  check_mysql(table);
}

}  // namespace

TEST_CASE("fingerprint: two executions of one statement have the same") {
  const auto expected = "SELECT * FROM t1 WHERE a = ? AND b IN (?) AND c = ?"sv;
  check_both({
      {"SELECT * FROM t1 WHERE a = 5 AND b IN (1, 2,3) AND c = 'it''s 7'", expected},
      {"/* from web */ SELECT *\n  FROM t1 -- here\nWHERE a = 0x1f AND b IN (9) AND c = ''",
       expected},
      {"SELECT * FROM t1 WHERE a = -5 AND b IN (-1 , +2) AND c = N'x' -- why", expected},
      {"INSERT INTO t(a, b) VALUES (1, 'a'), (2, 'b');SELECT 1",
       "INSERT INTO t(a, b) VALUES (?), (?);SELECT ?"},
      {"SELECT a-1, a - 1, (a)-1", "SELECT a-?, a - ?, (a)-?"},
  });
}

TEST_CASE("fingerprint: no number is in it") {
  check_both({
      {"SELECT 1e10, 4111.5e-3, .4111, 0x41aF, 4_111, 1.", "SELECT ?"},
      {"SELECT 4111AND 5", "SELECT ? ?"},
      {"SELECT t1.4111, a.b4 FROM t", "SELECT t1.?, a.b4 FROM t"},
      {"SELECT a4111111111111111, card_411111111, d20240101", "SELECT ?, d20240101"},
      {"SELECT x'4111', X'4111', b'101'", "SELECT ?"},
      {"SELECT\xc2\xa0"
       "4111 FROM t",
       "? FROM t"},
      {"SELECT\v4111 FROM t", "SELECT ? FROM t"},
  });
  check_postgres({
      {"SELECT $1, $2::text, arr[4111:7]", "SELECT ?::text, arr[?:?]"},
      {"SELECT é5 FROM t", "SELECT é5 FROM t"},
      {"SELECT 0o17, 0b101", "SELECT ?"},
  });
  check_mysql({
      {"SELECT 1st, ?, $4111, @a:=4111, @@global.x", "SELECT ?:=?, @@global.x"},
      // In some character sets é is two characters, and the second one is a blank.
      {"SELECT é5, é FROM t", "SELECT ?, é FROM t"},
      {"CREATE VIEW v AS SELECT bob@10.0.0.1, 'bob'@'%', \\N", "CREATE VIEW v AS SELECT bob??"},
  });
}

TEST_CASE("fingerprint: a comment parts words, and is left out") {
  check_both({
      {"SELECT/**/4111", "SELECT ?"},
      {"SELECT/* card check */4111 FROM t", "SELECT ? FROM t"},
      {"SELECT a FROM t WHERE x=1 AND/**/4111=card LIMIT/*x*/7",
       "SELECT a FROM t WHERE x=? AND ?=card LIMIT ?"},
      {"SELECT a*/* 'x' */4111", "SELECT a* ?"},
      {"SELECT a /* cut 'off", "SELECT a"},
      {"SELECT a -- cut 'off", "SELECT a"},
      {"SELECT a -- it's\n, 'b' FROM t", "SELECT a , ? FROM t"},
  });
  check_postgres({
      {"SELECT--c\n4111", "SELECT ?"},
      {"SELECT/*/ 'a' /*/4111", "SELECT"},
      {"SELECT--c\r'a\n hunter'", "SELECT ?"},
      {"SELECT/**/$$hunter$$", "SELECT ?"},
      {"/* a /* b */ 'c' */ SELECT a$b", "SELECT a$b"},
      {"/* a /*/ b */ 'c */ d' */ SELECT 1", "d?"},
      {"SELECT 5 # 3, a--5, note='x\nhunter'", "SELECT ? # ?, a hunter?"},
  });
  check_mysql({
      {"SELECT#c\n4111", "SELECT ?"},
      {"SELECT/*/ 'a' /*/4111", "SELECT ?"},
      {"UPDATE a SET b=b--5, note='line one\nhunter' WHERE id=7",
       "UPDATE a SET b=b--?, note=? WHERE id=?"},
      {"SELECT b--\t5 'x\n, c", "SELECT b , c"},
      {"SELECT b--\x01 5 'x\n, c", "SELECT b , c"},
      {"SELECT b--\xa0 'x\nhunter'", "SELECT b"},
      {"SELECT a--c\r'a\n hunter'", "SELECT a--c ?"},
      {"SELECT /* a /* b */ 'x */ hunter', 5", "SELECT ?"},
  });
}

TEST_CASE("fingerprint: a comment that MySQL may execute ends where both readings end") {
  check_mysql({
      {"SELECT /*!40001 SQL_NO_CACHE */ * FROM t", "SELECT * FROM t"},
      {"SELECT /*!50000 pw='hunter', */ 1", "SELECT ?"},
      {"SELECT /*M!100100 'hunter' */ a", "SELECT a"},
      {"SELECT /*+ SET_VAR(x='hunter') */ a", "SELECT a"},
      {"SELECT /*!50000 'a */ hunter' */ , 1", "SELECT"},
      {"SELECT /*!50000 a /* b */ 'c */ hunter' */ , 1", "SELECT"},
      {"SELECT /*!99999 'a /* b' */ hunter */ , 1", "SELECT"},
      {"SELECT /*!50000 a -- b */ hunter\n */ , 1", "SELECT"},
      {"SELECT /*!50000 a # b */ hunter\n */ , 1", "SELECT"},
      {"SELECT /*+ QB_NAME(`a*/ hunter`) */ 1", "SELECT"},
      {"SELECT /*!50000 \"a */ hunter\" */ 1", "SELECT"},
  });
  // PostgreSQL executes none.
  check_postgres({{"SELECT /*!50000 'a */ b, 'hunter' /*+ ' */", "SELECT b, ?"}});
}

TEST_CASE("fingerprint: no text is in it, whichever way the dialect writes it") {
  check_both({
      {"SELECT 'it''s', 5, 'a' 'b', 'x'AND 1", "SELECT ? ?AND ?"},
      {"SELECT 'cut off", "SELECT ?"},
      {"SELECT a'hunter', 1'hunter' x", "SELECT a?? x"},
      // Whether the mark ends the text is known to the server alone.
      {"SELECT 1 WHERE a = 'O\\'Brien' AND pw = 'hunter'", "SELECT ? WHERE a = ?"},
      {"SELECT '\\'|| 'hunter'", "SELECT ?"},
      {"SELECT 'a\\b', 'c' x", "SELECT ? x"},
      {"SELECT 'C:\\\\', 'it''s', 'c' x", "SELECT ? x"},
      {"SELECT 'C:\\\\''s', 'c' x", "SELECT ? x"},
      {"SELECT 'a\0b' x"sv, "SELECT ?"},
      {"SELECT a\0'hunter"sv, "SELECT a"},
      {"SELECT a \\ hunter", "SELECT a"},
  });
  check_postgres({
      {"SELECT $$it's$$, $a$b$$c$a$ x, $t$cut off", "SELECT ? x, ?"},
      {"SELECT $a$ $b$hunter$b$ $a$ x", "SELECT ? x"},
      {"SELECT $é$hunter$é$, $_$x$_$ y", "SELECT ? y"},
      {"SELECT $a hunter$a$", "SELECT"},
      {"SELECT 1$$hunter is$$, \"x\"$$hunter is$$, 'a'$$hunter is$$ b", "SELECT ??, \"x\"?? b"},
      // The server takes these for names, which nobody has meant.
      {"SELECT a$$hunter is here$$", "SELECT"},
      {"SELECT E'it\\'s hunter', e'\\\\' x", "SELECT ? x"},
      {"SELECT E'a'\n'it\\'s hunter' x", "SELECT ? ?"},
      {"SELECT U&'d!0061t' UESCAPE '!', U&\"hunter\" x", "SELECT ? UESCAPE ? x"},
      {"SELECT B'1', n'a', x'1f' y", "SELECT ? y"},
      {"SELECT \"Name 7\", \"it's\", \"a\"\"b\", \"cut",
       "SELECT \"Name 7\", \"it's\", \"a\"\"b\","},
      {"SELECT \"card 4111111111111111\", \"a\nb\", \"\xff\" x", "SELECT ? x"},
      {"SELECT d->'x'->>'y', d @> '{}', d ?| $1, `a` FROM t",
       "SELECT d->?->>?, d @> ?, d ?| ?, `a` FROM t"},
      {"DO $do$ BEGIN PERFORM 'hunter'; END $do$", "DO ?"},
  });
  check_mysql({
      {"SELECT `it's`, \"bob@x.org\" # 'why'\n, 'a' FROM t", "SELECT `it's`, ? FROM t"},
      {"SELECT `a``b`, 'hunter', \"it\"\"s\" x, `cut", "SELECT `a``b`, ? x,"},
      {"SELECT 'x' /* see /* */ , 'it*/ hunter'", "SELECT ?"},
      {"SELECT _utf8mb4'hunter', _latin1\"hunter\" x, n'a' y", "SELECT ? x, ? y"},
      {"SELECT DATE'2020-01-01', TIMESTAMP '2020'", "SELECT DATE?, TIMESTAMP ?"},
      {"SELECT d->'$.x', d->>\"$.y\", {d '2020-01-01'}", "SELECT d->?, d->>?, {d ?}"},
      {"SELECT $$hunter is here$$", "SELECT"},
      {"SELECT 1$$hunter is$$", "SELECT ?"},
      {"SELECT @'hunter', @`hunter`, @\"hunter\" x", "SELECT ? x"},
  });
}

TEST_CASE("fingerprint: half of a character is no mark") {
  check_mysql({
      // In GBK \x8d\x60 and \x8d\x5c are one character, and in UTF-8 none.
      {"SELECT `\x8d\x60`, 'hunter', `b`", "SELECT"},
      {"SELECT 'x\x8d\x5c', 'hunter'", "SELECT ?"},
      {"SELECT 'x\x8d\\\\', 'hunter'", "SELECT ?"},
      {"SELECT `\x81\x60 a` FROM t WHERE b='hunter' AND `c`=1", "SELECT ? a"},
      // This is UTF-8, and also GBK: there the name has five characters, and goes on.
      {"SELECT `\xe5\x90\x8d` = 'a' , b , `' hunter '`", "SELECT `\xe5\x90\x8d` = ? , b ,"},
      {"SELECT `\xe5\x90\x8d` = ' ` hunter ' , b", "SELECT `\xe5\x90\x8d` = ?"},
      {"SELECT `\xe5\x90\x8d``b` , c", "SELECT"},
      {"SELECT a\xe5\x90\x8d`b` , c", "SELECT a\xe5\x90\x8d"},
      {"SELECT `\xe5\x90\x8d x`, \xe5\x90\x8d FROM `b`",
       "SELECT `\xe5\x90\x8d x`, \xe5\x90\x8d FROM `b`"},
  });
  // No server encoding of PostgreSQL has such characters.
  check_postgres({{"SELECT \"\xe5\x90\x8d\", \"b\" = 'a'", "SELECT \"\xe5\x90\x8d\", \"b\" = ?"}});
}

TEST_CASE("fingerprint: a word that is a value is not in it") {
  check_both({
      {"SET app.token = hunter", "SET app.token = ?"},
      {"SET SESSION app.token TO a4111, b ; SELECT a", "SET SESSION app.token TO ?; SELECT a"},
      {"set role hunter", "set role ?"},
      {"CREATE USER bob IDENTIFIED BY hunter", "CREATE USER ?"},
      {"ALTER ROLE bob WITH PASSWORD hunter", "ALTER ROLE ?"},
      {"DROP ROLE bob", "DROP ROLE ?"},
      {"CREATE OR REPLACE USER bob IDENTIFIED BY 'hunter'", "CREATE OR REPLACE USER ?"},
      {"GRANT ALL ON *.* TO bob IDENTIFIED BY hunter", "GRANT ALL ON *.* TO bob IDENTIFIED ?"},
      {"ALTER DATABASE d SET app.token TO hunter", "ALTER DATABASE d SET app.token TO ?"},
      {"UPDATE t SET a = b WHERE c = d", "UPDATE t SET a = b WHERE c = d"},
      {"SELECT user, role FROM identified", "SELECT user, role FROM identified"},
      {"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
       "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"},
  });
  check_postgres({
      {"SET SESSION AUTHORIZATION hunter", "SET SESSION AUTHORIZATION ?"},
      {"SET TIME ZONE hunter", "SET TIME ZONE ?"},
      {"LISTEN hunter", "LISTEN ?"},
      {"NOTIFY hunter, 'hunter'", "NOTIFY ?"},
      {"UNLISTEN hunter; SELECT 1", "UNLISTEN ?; SELECT ?"},
  });
  check_mysql({
      {"SET PASSWORD FOR bob = PASSWORD('hunter')", "SET PASSWORD FOR bob = ?"},
      {"SET @a := hunter, b = hunter", "SET ? := ?"},
      {"CHANGE MASTER TO MASTER_PASSWORD='hunter', MASTER_PORT=3306",
       "CHANGE MASTER TO MASTER_PASSWORD=?, MASTER_PORT=?"},
  });
}

}  // namespace labelscope::test
