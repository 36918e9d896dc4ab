/* HAProxy as Debian builds 2.6: the task that a thread runs, which is a stream or another one. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

struct proxy {
  char before[4648];
  const char* id;
};
struct session {
  struct proxy* frontend;
};
struct stream {
  char before[24];
  struct session* session;
  char between[192];
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
_Static_assert(offsetof(struct stream, backend) == 224, "as the server's");
_Static_assert(offsetof(struct proxy, id) == 4648, "as the server's");

/* A build for fewer threads has other offsets as well, so no preset fits it. */
#ifndef THREADS
#define THREADS 64
#endif
EXPORTED struct thread_ctx ha_thread_ctx[THREADS];
EXPORTED __thread struct thread_ctx* th_ctx;
FUNCTION void process_stream(void) {}
FUNCTION void h1_io_cb(void) { __asm__ volatile("nop"); }

static struct proxy shop, bank, none, not_one;
static struct session session, other_session, no_session;
static struct stream stream, other_stream, no_stream;
static struct task task, other_task;

static void set_stream(struct stream* to, struct session* its, struct proxy* from,
                       struct proxy* backend) {
  its->frontend = from;
  to->session = its;
  to->backend = backend;
}

static void reset(void) {
  shop.id = "shop";
  bank.id = "origin";
  none.id = "";
  set_stream(&stream, &session, &shop, &bank);
  task = (struct task){0, process_stream, &stream};
  th_ctx = &ha_thread_ctx[1];
  th_ctx->current = &task;
}

static void begin_other(void) {
  static struct proxy other = {.id = "of-thread-2"};
  set_stream(&other_stream, &other_session, &other, NULL);
  other_task = (struct task){0, process_stream, &other_stream};
  th_ctx = &ha_thread_ctx[2];
  th_ctx->current = &other_task;
}

static void have_no_task(void) { th_ctx->current = NULL; }
static void have_no_context(void) { th_ctx = NULL; }
/* What it works on is no stream, but memory there leads somewhere, too. */
static void run_tasklet(void) {
  not_one.id = "no name of a proxy";
  set_stream(&no_stream, &no_session, &not_one, &not_one);
  task = (struct task){0, h1_io_cb, &no_stream};
}
static void have_no_backend(void) { stream.backend = NULL; }
static void have_empty_names(void) { set_stream(&stream, &session, &none, &none); }
static void have_empty_backend(void) { stream.backend = &none; }

#define OTHER "frontend=of-thread-2"
static const struct state kStates[] = {
    {"a stream", NULL, "frontend=shop, backend=origin", OTHER},
    {"no task", have_no_task, "unlabelled", OTHER},
    {"a thread that has not begun", have_no_context, "unlabelled", OTHER},
    {"a tasklet", run_tasklet, "unlabelled", OTHER},
    {"no backend yet", have_no_backend, "frontend=shop", OTHER},
    {"a backend without a name", have_empty_backend, "frontend=shop", OTHER},
    {"proxies without names", have_empty_names, "unlabelled", OTHER},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(th_ctx),  AREA(ha_thread_ctx), AREA(task), AREA(stream),
                             AREA(session), AREA(shop),          AREA(bank)};
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
  static const struct server kServer = {
      THREADS == 64 ? "haproxy" : "", NULL, reset, kStates, begin_other, list_areas, NULL};
  return &kServer;
}
