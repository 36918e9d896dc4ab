/* Any program: what it calls itself in /proc. */
#include <stddef.h>

#include "server.h"

static void reset(void) {}
static void have_no_title(void) { set_title(""); }
static void work(void) { set_title("sidekiq 6.5 shop [3 of 10 busy]"); }

static const struct state kStates[] = {{"a title", work, "title=sidekiq 6.5 shop [3 of 10 busy]",
                                        "title=sidekiq 6.5 shop [3 of 10 busy]"},
                                       {"an empty title", have_no_title, "unlabelled", NULL},
                                       {0}};

const struct server* the_server(void) {
  static const struct server kServer = {"title", NULL, reset, kStates, NULL, NULL, NULL};
  return &kServer;
}
