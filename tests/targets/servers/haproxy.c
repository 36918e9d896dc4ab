/* HAProxy as Debian builds 2.6: the task that a thread runs, which is a stream, the connection of a
 * client (struct h1c), a stream's end of a connection (struct stconn), or another one. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

struct proxy {
  unsigned char type;
  char before[4647];
  const char* id;
};
#define OBJ_TYPE_PROXY 2
#define OBJ_TYPE_STREAM 9
#define OBJ_TYPE_CHECK 10
struct session {
  struct proxy* frontend;
};
struct request { /* struct h1s */
  char before[32];
  struct session* session;
};
/* A stream has its session and its backend here, a connection its request, and a connector the
 * stream or the health check that it belongs to. What is at the place of the others is not
 * theirs. */
struct context {
  unsigned char type;
  char before[23];
  struct session* session;
  char between[8];
  struct context* app;
  char more[88];
  struct request* request;
  char behind[80];
  struct proxy* backend;
};
struct task {
  uint64_t state;
  void (*process)(void);
  void* context;
};
struct thread_ctx {
  char before[32];
  struct task* current;
  char after[216];
};
_Static_assert(offsetof(struct context, app) == 40, "as the server's");
_Static_assert(offsetof(struct context, request) == 136, "as the server's");
_Static_assert(offsetof(struct context, backend) == 224, "as the server's");
_Static_assert(offsetof(struct proxy, id) == 4648, "as the server's");

/* A build for fewer threads has other offsets as well, so no preset fits it. */
#ifndef THREADS
#define THREADS 64
#endif
EXPORTED struct thread_ctx ha_thread_ctx[THREADS];
EXPORTED __thread struct thread_ctx* th_ctx;
FUNCTION void process_stream(void) {}
FUNCTION void h1_io_cb(void) { __asm__ volatile("nop"); }

FUNCTION void sc_conn_io_cb(void) { __asm__ volatile("nop; nop; nop"); }

FUNCTION void another_task(void) { __asm__ volatile("nop; nop"); }

static struct proxy shop, bank, none, not_one;
/* A stream or a session that has ended begins with pointers to others of its kind in the pool. */
static struct proxy in_pool;
static struct session session, other_session, no_session, ended_session;
static struct request request, no_request;
static struct context stream, connection, connector, other_stream, check, no_stream, nothing;
static struct task task, other_task;

static void reset(void) {
  shop = (struct proxy){.type = OBJ_TYPE_PROXY, .id = "shop"};
  bank = (struct proxy){.type = OBJ_TYPE_PROXY, .id = "origin"};
  none = (struct proxy){.type = OBJ_TYPE_PROXY, .id = ""};
  not_one = (struct proxy){.type = OBJ_TYPE_PROXY, .id = "no name of a proxy"};
  in_pool = (struct proxy){.type = 0xe0, .id = "a pointer of a list"};
  ended_session.frontend = &in_pool;
  no_session.frontend = &not_one;
  no_request.session = &no_session;
  no_stream = (struct context){
      .type = OBJ_TYPE_STREAM, .session = &no_session, .backend = &not_one};
  nothing = no_stream;
  nothing.type = 0xe0;
  nothing.app = &no_stream;
  nothing.request = &no_request;
  check = no_stream;
  check.type = OBJ_TYPE_CHECK;
  session.frontend = &shop;
  request.session = &session;
  stream = nothing;
  stream.type = OBJ_TYPE_STREAM;
  stream.session = &session;
  stream.backend = &bank;
  connection = nothing;
  connection.request = &request;
  connector = nothing;
  connector.app = &stream;
  task = (struct task){0, process_stream, &stream};
  th_ctx = &ha_thread_ctx[1];
  th_ctx->current = &task;
}

static void begin_other(void) {
  static struct proxy other = {.type = OBJ_TYPE_PROXY, .id = "of-thread-2"};
  other_stream.type = OBJ_TYPE_STREAM;
  other_session.frontend = &other;
  other_stream.session = &other_session;
  other_task = (struct task){0, process_stream, &other_stream};
  th_ctx = &ha_thread_ctx[2];
  th_ctx->current = &other_task;
}

static void have_no_task(void) { th_ctx->current = NULL; }
static void have_no_context(void) { th_ctx = NULL; }
static void run_another_task(void) { task = (struct task){0, another_task, &nothing}; }
/* Its context looks like a stream by chance. */
static void run_task_like_stream(void) {
  static struct proxy strange;
  static struct session strange_session = {&strange};
  static struct context like_stream;
  strange = (struct proxy){.type = OBJ_TYPE_PROXY, .id = "no name of a proxy"};
  like_stream = (struct context){
      .type = OBJ_TYPE_STREAM, .session = &strange_session, .backend = &strange};
  task = (struct task){0, another_task, &like_stream};
}
static void read_connection(void) { task = (struct task){0, h1_io_cb, &connection}; }
static void read_idle_connection(void) {
  read_connection();
  connection.request = NULL;
}
static void read_unnamed_connection(void) {
  read_connection();
  session.frontend = &none;
}
static void end_session(void) { session.frontend = &in_pool; }
static void end_stream(void) {
  stream.type = 0xe0;
  stream.session = &ended_session;
}
static void end_stream_and_backend(void) {
  end_stream();
  stream.backend = &in_pool;
}
static void end_backend(void) { stream.backend = &in_pool; }
static void end_session_of_connection(void) {
  read_connection();
  end_session();
}
static void read_connector(void) { task = (struct task){0, sc_conn_io_cb, &connector}; }
static void read_check(void) {
  read_connector();
  connector.app = &check;
}
static void read_connector_of_nothing(void) {
  read_connector();
  connector.app = NULL;
}
static void end_stream_of_connector(void) {
  read_connector();
  end_stream();
}
static void end_session_of_connector(void) {
  read_connector();
  end_session();
}
static void end_backend_of_connector(void) {
  read_connector();
  stream.backend = &in_pool;
}
static void have_no_backend(void) { stream.backend = NULL; }
static void have_empty_backend(void) { stream.backend = &none; }
static void have_empty_names(void) {
  have_empty_backend();
  session.frontend = &none;
}
static void read_unnamed_connector(void) {
  read_connector();
  have_empty_names();
}

#define OTHER "frontend=of-thread-2"
static const struct state kStates[] = {
    {"a stream", NULL, "frontend=shop, backend=origin", OTHER},
    {"no task", have_no_task, "unlabelled", OTHER},
    {"a thread that has not begun", have_no_context, "unlabelled", OTHER},
    {"another task", run_another_task, "unlabelled", OTHER},
    {"another task whose context looks like a stream", run_task_like_stream, "unlabelled", OTHER},
    {"a connection", read_connection, "frontend=shop", OTHER},
    {"a connection between two requests", read_idle_connection, "unlabelled", OTHER},
    {"a connection of a frontend without a name", read_unnamed_connection, "unlabelled", OTHER},
    {"a stream that has ended", end_stream, "unlabelled", OTHER},
    {"a stream whose memory has others", end_stream_and_backend, "unlabelled", OTHER},
    {"a stream whose backend has ended", end_backend, "frontend=shop", OTHER},
    {"a stream whose session has ended", end_session, "backend=origin", OTHER},
    {"a connection whose session has ended", end_session_of_connection, "unlabelled", OTHER},
    {"a connector", read_connector, "frontend=shop, backend=origin", OTHER},
    {"a connector of a check", read_check, "unlabelled", OTHER},
    {"a connector of nothing", read_connector_of_nothing, "unlabelled", OTHER},
    {"a connector whose stream has ended", end_stream_of_connector, "unlabelled", OTHER},
    {"a connector whose session has ended", end_session_of_connector, "backend=origin", OTHER},
    {"a connector whose backend has ended", end_backend_of_connector, "frontend=shop", OTHER},
    {"a connector between proxies without names", read_unnamed_connector, "unlabelled", OTHER},
    {"no backend yet", have_no_backend, "frontend=shop", OTHER},
    {"a backend without a name", have_empty_backend, "frontend=shop", OTHER},
    {"proxies without names", have_empty_names, "unlabelled", OTHER},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(th_ctx),  AREA(ha_thread_ctx), AREA(task),       AREA(stream),
                             AREA(session), AREA(shop),          AREA(connection), AREA(bank)};
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
  static const struct server kServer = {
      THREADS == 64 ? "haproxy" : "", NULL, reset, kStates, begin_other, list_areas, NULL};
  return &kServer;
}
