#include "scopes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct scope {
  struct scope* outer; /* or the next spare one */
  uint64_t ticket;
  int64_t thread; /* the number of the thread of Java that has entered it */
  custom_labels_saved_t saved;
};

struct scope_list {
  struct scope* innermost;
  struct scope* spare;
  uint64_t next_ticket; /* a multiple of kTicketsAtOnce: the thread has no ticket left */
};

static __thread struct scope_list own_scopes;

/* A thread takes tickets from the process, so many at once. A ticket has 56 bits, since eight are
 * for the result of a call (java_labels.c): they last for 2^40 threads, or for two hundred years of
 * one thread that enters ten million scopes in each second. Ticket 0 stands for none. */
enum { kTicketsAtOnce = 1 << 16 };
static _Atomic uint64_t taken = kTicketsAtOnce;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end_key;
static int key_error;

static void free_all(struct scope* scope) {
  while (scope != NULL) {
    struct scope* next = scope->outer;
    free(scope);
    scope = next;
  }
}

static void end_thread(void* list) {
  struct scope_list* scopes = list;
  free_all(scopes->innermost);
  free_all(scopes->spare);
  scopes->innermost = NULL;
  scopes->spare = NULL;
}

static void create_key(void) { key_error = pthread_key_create(&thread_end_key, end_thread); }

/* Adds a spare scope. */
static __attribute__((noinline)) bool allocate(struct scope_list* list) {
  pthread_once(&key_once, create_key);
  if (key_error != 0 || pthread_setspecific(thread_end_key, list) != 0) return false;
  struct scope* scope = malloc(sizeof *scope);
  if (scope == NULL) return false;
  scope->outer = NULL;
  list->spare = scope;
  return true;
}

static uint64_t take_ticket(struct scope_list* list) {
  if (list->next_ticket % kTicketsAtOnce == 0)
    list->next_ticket = atomic_fetch_add_explicit(&taken, kTicketsAtOnce, memory_order_relaxed);
  return list->next_ticket++;
}

/* All scopes of the list have one thread of Java. */
static __attribute__((noinline)) void leave_all(const struct scope_list* list) {
  const struct scope* outermost = list->innermost;
  while (outermost->outer != NULL) outermost = outermost->outer;
  (void)scopes_leave(outermost->ticket);
}

custom_labels_result_t scopes_enter(int64_t thread, const custom_labels_label_t* labels, size_t n,
                                    uint64_t* ticket) {
  struct scope_list* list = &own_scopes;
  *ticket = 0;
  if (list->innermost != NULL && list->innermost->thread != thread) leave_all(list);
  if (list->spare == NULL && !allocate(list)) return CUSTOM_LABELS_NO_MEMORY;
  struct scope* scope = list->spare;
  const custom_labels_result_t result = custom_labels_thread_enter(&scope->saved, labels, n);
  if (result < 0) return result; /* nothing was published, and the memory is spare as before */
  list->spare = scope->outer;
  scope->outer = list->innermost;
  scope->ticket = take_ticket(list);
  scope->thread = thread;
  list->innermost = scope;
  *ticket = scope->ticket;
  return result;
}

custom_labels_result_t scopes_leave(uint64_t ticket) {
  struct scope_list* list = &own_scopes;
  struct scope* scope = list->innermost;
  while (scope != NULL && scope->ticket != ticket) scope = scope->outer;
  if (scope == NULL) return CUSTOM_LABELS_ABSENT;
  const custom_labels_result_t result = custom_labels_thread_leave(&scope->saved);
  struct scope* outer = scope->outer;
  /* This one and all inside of it, which stand before it in the list, become spare. */
  scope->outer = list->spare;
  list->spare = list->innermost;
  list->innermost = outer;
  return result;
}
