/* A server that publishes no labels, made for one preset: its exported variables and functions have
 * the names, sizes and layout that the preset asks for. It can be put into each state in which a
 * preset that leaves out a check reads a wrong label: an entry of an earlier owner, a query that
 * has ended, a pointer that dangles.
 *
 *   NAME [--burn]
 *
 * It prints {"preset": NAME, "states": [...]}. A line on stdin is the name of a state; the server
 * puts itself into it and prints what labels are true there, of its first thread and of its second
 * one, and then "ready":
 *
 *   {"state": "idle", "first": "db=shop, user=ada", "other": "unlabelled"}
 *
 * A truth is the labels in the order of the preset, "unlabelled", or "stale: " with the preset's
 * words for why. With --burn its threads compute meanwhile, so that a sampler sees them. A line
 * {"child": PID, "first": TRUTH} is about a child, which ends with the state.
 *
 * A line "fill KIND SEED" makes its memory that of no server (fill.h), and nothing is true then.
 * With "flip" two owners take turns, as fast as they can, until the next line. */
#ifndef SERVER_H
#define SERVER_H

#include "fill.h"

/* Only labelscope looks at these, so GCC would remove them, or join those that are alike. */
#define EXPORTED __attribute__((used, visibility("default")))
#define FUNCTION EXPORTED __attribute__((noinline, noclone))

enum { kMostAreas = 16 };
#define AREA(variable) \
  { &(variable), sizeof(variable) }

struct state {
  const char* name;
  void (*put)(void); /* changes what reset() has set; NULL: nothing */
  const char* first;
  const char* other; /* NULL: "unlabelled" */
};

/* This is what a server supplies. */
struct server {
  const char* preset;         /* empty: none fits it */
  const char* title;          /* what ps(1) shows; NULL: the path of the program */
  void (*reset)(void);        /* puts it into its usual state: something runs */
  const struct state* states; /* the last one has no name */
  void (*begin_other)(void);  /* what its second thread does first; may be NULL */
  /* Stores where labels are read; there is room for kMostAreas. NULL: a title is all. */
  void (*list_areas)(struct area* areas);
  void (*flip)(unsigned turn); /* lets one of two owners have its values; may be NULL */
};
extern const struct server* the_server(void);

/* These are for the put() of a state. */
void set_title(const char* title);
/* Starts a child, which calls `become` and then does as its parent. `first` is its truth. It ends
 * with the state. */
void fork_child(void (*become)(void), const char* first);

#endif /* SERVER_H */
