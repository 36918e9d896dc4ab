/* MariaDB: struct THD, which the connection's thread has in a thread-local variable without a name,
 * and the functions that the server exports for its plugins. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

typedef struct {
  const char* text;
  size_t length;
} lex_string;

typedef struct {
  uint64_t unused;
  const char* user;
} security_context;

typedef struct {
  uint64_t unused;
  uint32_t command;
} statement;

typedef struct {
  char before[0x58];
  statement* lex;
  uint64_t unused;
  lex_string query;
  char between[0x28];
  lex_string database;
  char more[0x2500];
  security_context* security;
  char yet_more[0x1900];
  uint64_t thread_id;
} THD;

static __thread THD* current_thd;

/* The server's own are as short. */
FUNCTION THD* _current_thd(void) { return current_thd; }
FUNCTION const char* thd_user_name(THD* thd) {
  return thd->security == NULL ? NULL : thd->security->user;
}
FUNCTION const lex_string* thd_current_db(THD* thd) { return &thd->database; }
FUNCTION int thd_sql_command(const THD* thd) { return (int)thd->lex->command; }
FUNCTION const lex_string* thd_query_string(THD* thd) { return &thd->query; }
FUNCTION unsigned long thd_get_thread_id(const THD* thd) { return thd->thread_id; }

static statement select;
static security_context login, definer;
static THD own;

static void reset(void) {
  login.user = "ada";
  definer.user = "root";
  own.lex = &select;
  own.query = (lex_string){"select 42 and what was there before", 9};
  own.database = (lex_string){"shop", 4};
  own.security = &login;
  own.thread_id = 7;
  current_thd = &own;
}

static void begin_other(void) {
  static THD other;
  static security_context grace = {0, "grace"};
  other.lex = &select;
  other.security = &grace;
  other.thread_id = 8;
  current_thd = &other;
}

static void have_no_connection(void) { current_thd = NULL; }
static void call_procedure(void) { own.security = &definer; }
static void have_no_security(void) { own.security = NULL; }
static void have_no_user(void) { login.user = NULL; }
static void have_empty_user(void) { login.user = ""; }
static void have_no_database(void) { own.database = (lex_string){NULL, 0}; }
static void have_empty_database(void) { own.database.length = 0; }
static void be_idle(void) { own.query = (lex_string){NULL, 0}; }
static void have_empty_query(void) { own.query.length = 0; }

#define CONNECTION "connection=7"
#define QUERY ", query=select ?"
#define OTHER "user=grace, connection=8"
static const struct state kStates[] = {
    {"a statement", NULL, "user=ada, db=shop, " CONNECTION QUERY, OTHER},
    {"a thread without a connection", have_no_connection, "unlabelled", OTHER},
    {"a stored procedure", call_procedure, "user=root, db=shop, " CONNECTION QUERY, OTHER},
    {"no security context", have_no_security, "db=shop" QUERY, OTHER},
    {"a thread that waits for its next connection has no user", have_no_user, "db=shop" QUERY,
     OTHER},
    {"a user without a name", have_empty_user, "db=shop, " CONNECTION QUERY, OTHER},
    {"no database", have_no_database, "user=ada, " CONNECTION QUERY, OTHER},
    {"a database whose name was emptied", have_empty_database, "user=ada, " CONNECTION QUERY,
     OTHER},
    {"idle", be_idle, "user=ada, db=shop, " CONNECTION, OTHER},
    {"an empty statement", have_empty_query, "user=ada, db=shop, " CONNECTION, OTHER},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(current_thd), AREA(own), AREA(login), AREA(definer),
                             AREA(select)};
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
  static const struct server kServer = {"mariadb",   NULL,       reset, kStates,
                                        begin_other, list_areas, NULL};
  return &kServer;
}
