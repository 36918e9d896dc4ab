/* Redis and Valkey: `server`, the client whose command runs, and what it points to. Defined are the
 * size of `server` (SIZE), offsets (CUR, DB, NAME, CMD, USER, DBID, FULL), the name of the table of
 * commands (TABLE), and UNKNOWN for a version of which no preset knows the numbers. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

EXPORTED union {
  unsigned char bytes[SIZE];
  struct {
    unsigned char before[CUR];
    void* current_client;
  } members;
} server;
EXPORTED int TABLE[4];
FUNCTION void serverLogRaw(void) {}

static unsigned char client[512], command[512], user[64], name[64], database[64];

static void set(unsigned char* place, size_t offset, const void* pointer) {
  memcpy(place + offset, &pointer, sizeof pointer);
}

static void reset(void) {
  set(command, FULL, "get");
  set(user, 0, "ada");
  set(name, 8, "queue");
  const uint32_t number = 3;
  memcpy(database + DBID, &number, sizeof number);
  set(client, CMD, command);
  set(client, USER, user);
  set(client, NAME, name);
  set(client, DB, database);
  server.members.current_client = client;
}

static void have_no_client(void) { server.members.current_client = NULL; }
static void have_no_command(void) { set(client, CMD, NULL); }
static void have_no_name(void) { set(client, NAME, NULL); }
static void have_empty_name(void) { set(name, 8, ""); }

static const struct state kStates[] = {
    {"a command runs", NULL, "command=get, user=ada, client=queue, db=3", NULL},
    {"sockets are read, which is no client's work", have_no_client, "unlabelled", NULL},
    {"a command that is not known", have_no_command, "user=ada, client=queue, db=3", NULL},
    {"a client without a name", have_no_name, "command=get, user=ada, db=3", NULL},
    {"a client with an empty name", have_empty_name, "command=get, user=ada, db=3", NULL},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(server), AREA(client), AREA(command),
                             AREA(user),   AREA(name),   AREA(database)};
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
#ifdef UNKNOWN
  static const struct server kServer = {"", NULL, reset, kStates, NULL, list_areas, NULL};
#else
  static const struct server kServer = {"redis", NULL, reset, kStates, NULL, list_areas, NULL};
#endif
  return &kServer;
}
