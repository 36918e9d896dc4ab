/* PostgreSQL 13 to 19, by VERSION: one backend and its entry, as pg_stat_activity shows it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

/* The states of a backend. STATE_STARTING came with 18. */
#if VERSION >= 18
enum { kIdle = 2, kRunning = 3, kIdleInTransaction = 4 };
#else
enum { kIdle = 1, kRunning = 2, kIdleInTransaction = 3 };
#endif

struct PgBackendStatus {
  int32_t changecount; /* odd while it is being written */
  int32_t procpid;
  char times_and_type[40];
  uint32_t databaseid;
  uint32_t userid;
  char client[176];
  uint32_t state;
  uint32_t padding;
  const char* appname;
  const char* activity;
  char progress[168];
  int64_t query_id; /* not before 14 */
};
_Static_assert(offsetof(struct PgBackendStatus, state) == 232, "as the server's");
_Static_assert(offsetof(struct PgBackendStatus, appname) == 240, "as the server's");
_Static_assert(offsetof(struct PgBackendStatus, query_id) == 424, "as the server's");

/* Where struct Port has the names of the database and the user, in bytes. */
#if VERSION >= 18
enum { kDatabase = 384, kUser = 392 };
#elif VERSION == 17
enum { kDatabase = 320, kUser = 328 };
#else
enum { kDatabase = 328, kUser = 336 };
#endif
struct Port {
  const char* members[64];
};

EXPORTED struct PgBackendStatus* MyBEEntry;
EXPORTED struct Port* MyProcPort;
EXPORTED int MyProcPid;
EXPORTED const char* debug_query_string;
static uint32_t wait_event_info;
EXPORTED uint32_t* my_wait_event_info;
static uint32_t CurrentUserId;
FUNCTION uint32_t GetUserId(void) { return CurrentUserId; }

FUNCTION void pgstat_report_appname(void) {}
#if VERSION >= 14
FUNCTION void pgstat_report_query_id(void) {}
#endif
#if VERSION >= 17
EXPORTED void* MyClientSocket;
#endif
#if VERSION >= 18
FUNCTION void pgstat_report_plan_id(void) {}
#endif
#if VERSION >= 19
FUNCTION void GetNamedDSHash(void) {}
#endif

static struct PgBackendStatus own, another;
static struct Port port;

static void set_entry(struct PgBackendStatus* entry, int pid, uint32_t database, uint32_t user) {
  *entry = (struct PgBackendStatus){.changecount = 4,
                                    .procpid = pid,
                                    .databaseid = database,
                                    .userid = user,
                                    .state = kRunning,
                                    .appname = "web",
                                    .activity = "select 42",
                                    .query_id = -4711};
}

static void reset(void) {
  MyProcPid = getpid();
  set_entry(&own, MyProcPid, 16384, 16390);
  set_entry(&another, 1, 999, 998);
  another.appname = "another session";
  MyBEEntry = &own;
  /* In another version, the names are elsewhere. */
  for (int i = 0; i < 64; i++) port.members[i] = "a member of another name";
  port.members[kDatabase / 8] = "shop";
  port.members[kUser / 8] = "ada";
  MyProcPort = &port;
  CurrentUserId = 16390;
  wait_event_info = 0;
  my_wait_event_info = &wait_event_info;
}

static void be_idle(void) { own.state = kIdle; }
static void be_idle_in_transaction(void) { own.state = kIdleInTransaction; }
static void parse(void) { own.query_id = 0; }
static void have_no_text(void) { own.activity = ""; }
static void take_entry(void) { MyBEEntry = &another; }
static void free_entry(void) { own.procpid = 0; }
static void write_entry(void) { own.changecount = 5; }
static void have_no_entry(void) { MyBEEntry = NULL; }
static void set_role(void) { CurrentUserId = 16999; }
static void have_no_role(void) { CurrentUserId = 0; }
static void have_no_port(void) { MyProcPort = NULL; }
static void wait_for_lock(void) { wait_event_info = 0x03000001; }
static void have_no_names(void) {
  port.members[kDatabase / 8] = "";
  port.members[kUser / 8] = "";
}
static void send_wal(void) {
  own.databaseid = 0;
  own.userid = 0;
  own.appname = "";
}
static void become_child(void) {
  MyProcPid = getpid();
  set_entry(&another, MyProcPid, 16385, 16391);
  another.appname = "batch";
  another.state = kIdle;
  MyBEEntry = &another;
  MyProcPort = NULL;
  CurrentUserId = 16391;
}
static void become_new_child(void) {
  MyProcPid = getpid();
  MyBEEntry = &another;
}
#define TITLE ", title=postgres: ada shop"
static void fork_session(void) {
  fork_child(become_child, "application=batch, db_oid=16385, user_oid=16391, role_oid=16391" TITLE);
}
#define OF_ANOTHER "stale: the entry is not, or not yet, of this process"
static void fork_new_session(void) { fork_child(become_new_child, OF_ANOTHER); }

#if VERSION >= 14
#define ID "query_id=-4711, "
#else
#define ID ""
#endif
#define NAMES "db=shop, user=ada, "
#define APPLICATION "application=web, "
#define IDS "db_oid=16384, user_oid=16390, "
#define ROLE "role_oid=16390"
#define ALL NAMES APPLICATION IDS ROLE
#define QUERY ", query=select ?"

static const struct state kStates[] = {
    {"running", NULL, ID ALL QUERY TITLE, NULL},
    {"idle: the number and the text are of the query that has ended", be_idle, ALL TITLE, NULL},
    {"idle in a transaction", be_idle_in_transaction, ALL TITLE, NULL},
    {"a query is parsed and has no number yet", parse, ALL QUERY TITLE, NULL},
    {"a query has no text", have_no_text, ID ALL TITLE, NULL},
    {"the entry is of an earlier owner", take_entry, OF_ANOTHER, NULL},
    {"the entry is free", free_entry, OF_ANOTHER, NULL},
    {"the entry is being written", write_entry, "stale: the entry is being written", NULL},
    {"there is no entry", have_no_entry,
     "stale: the process has no entry: it is starting or ending, or is the postmaster", NULL},
    {"SET ROLE", set_role, ID NAMES APPLICATION IDS "role_oid=16999" QUERY TITLE, NULL},
    {"no role yet", have_no_role, ID NAMES APPLICATION "db_oid=16384, user_oid=16390" QUERY TITLE,
     NULL},
    {"a parallel worker has no connection", have_no_port, ID APPLICATION IDS ROLE QUERY TITLE,
     NULL},
    {"a connection without names", have_no_names, ID APPLICATION IDS ROLE QUERY TITLE, NULL},
    {"a sender of WAL has no database, user and application", send_wal, ID NAMES ROLE QUERY TITLE,
     NULL},
    {"waiting for a lock", wait_for_lock, ID ALL ", wait_event=Lock" QUERY TITLE, NULL},
    {"a child with an entry of its own", fork_session, ID ALL QUERY TITLE, NULL},
    {"a child that has no entry of its own yet", fork_new_session, ID ALL QUERY TITLE, NULL},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(MyBEEntry), AREA(MyProcPort), AREA(my_wait_event_info), AREA(own),
                             AREA(another),   AREA(port),       AREA(CurrentUserId)};
  memcpy(areas, all, sizeof all);
}

/* An entry is written as the server does, and so are the variables that are read with it. For a
 * while they stay as they are. */
static void flip(unsigned turn) {
  const bool second = turn % 2 != 0;
  __atomic_add_fetch(&own.changecount, 1, __ATOMIC_SEQ_CST);
  own.databaseid = second ? 2 : 1;
  own.appname = second ? "two" : "one";
  own.activity = second ? "two" : "one";
  own.query_id = second ? 2 : 1;
  own.userid = second ? 2 : 1;
  port.members[kDatabase / 8] = second ? "two" : "one";
  port.members[kUser / 8] = second ? "two" : "one";
  CurrentUserId = second ? 2 : 1;
  __atomic_add_fetch(&own.changecount, 1, __ATOMIC_SEQ_CST);
  for (volatile unsigned turns = 0; turns < 20 + turn % 64; turns++) continue;
}

const struct server* the_server(void) {
  static const struct server kServer = {VERSION >= 19 ? "" : "postgres",
                                        "postgres: ada shop",
                                        reset,
                                        kStates,
                                        NULL,
                                        list_areas,
                                        flip};
  return &kServer;
}
