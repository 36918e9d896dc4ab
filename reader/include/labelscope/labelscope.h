/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* This is the reader's interface for C: labels of the threads of a process or of a core file, from
 * outside.
 *
 *   ls_error error;
 *   ls_target* target;
 *   ls_plan* plan;
 *   ls_observation* seen;
 *   if (ls_open_process(pid, &target, &error) != LS_OK) ...;       error.text says why
 *   if (ls_make_plan(target, &plan, &error) != LS_OK) ...;         once, and after a dlopen again
 *   if (ls_read_thread(target, plan, tid, &seen, &error) != LS_OK) ...;
 *   for (size_t i = 0; i < ls_label_count(seen); i++) {
 *     ls_bytes key = ls_label_key(seen, i);
 *     ls_bytes value = ls_label_value(seen, i);
 *   }
 *   ls_free_observation(seen), ls_free_plan(plan), ls_close(target);
 *
 * Errors. A function that can fail returns an ls_error_code and fills the ls_error that the caller
 * passed (which may be NULL); its results are then NULL. There is no state between calls. Nothing
 * is printed, and nothing is thrown: running out of memory is an error like any other. A thread
 * without labels is not an error but an outcome (outcome.h).
 *
 * Ownership. The caller owns an object that a function gives through a pointer to a pointer, and
 * frees it with the function named beside its type; all of those accept NULL. An object holds
 * everything that it needs: a plan may outlive its target, an observation its plan. The memory
 * behind an ls_bytes or a `const char*` belongs to the object that returned it and lives as long.
 *
 * Threads. Different objects are independent. Plans, thread lists, observations and explanations
 * never change: any number of threads may use one at the same time. ls_read_thread,
 * ls_read_thread_at and ls_explain_thread may run on several threads at once with one target; each
 * other function needs the target for itself.
 *
 * Bytes. Keys, values, names and paths come from the target, and so do parts of error.text and of
 * explanations. They are not text until you make them text: escape them for the place they go to.
 *
 * Stability. Handles are opaque; ls_error, ls_bytes and ls_tls_recipe never change; options start
 * with their size, so that they can grow; functions are only added. A program that uses a newer
 * function does not link with an older library. Enumerations grow at their end. */
#ifndef LABELSCOPE_LABELSCOPE_H
#define LABELSCOPE_LABELSCOPE_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stddef.h>
#include <stdint.h>

#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LS_API __attribute__((visibility("default")))

/* This grows with each function or enumerator that is added; ls_api_version() returns the library's
 * own. */
#define LS_API_VERSION 1
LS_API unsigned ls_api_version(void);

/* ---- Errors ---- */

typedef enum ls_error_code {
  LS_OK = 0,
  LS_ERROR_NOT_FOUND = 1,   /* no such thread or file, or a thread's number for a process */
  LS_ERROR_PERMISSION = 2,  /* the kernel refused; a capability or another user would help */
  LS_ERROR_VANISHED = 3,    /* there is no such process, or it or the thread has ended */
  LS_ERROR_UNREADABLE = 4,  /* memory is not mapped or not resident */
  LS_ERROR_MALFORMED = 5,   /* a file contradicts itself or its format */
  LS_ERROR_UNSUPPORTED = 6, /* valid, but outside what the reader can do */
  LS_ERROR_LIMIT = 7,       /* a bound of the reader was reached */
  LS_ERROR_SYSTEM = 8,      /* any other failure of the operating system */
  LS_ERROR_NO_MEMORY = 9,   /* the calling process has no memory left */
  LS_ERROR_ARGUMENT = 10,   /* a null pointer, or options of an unknown size */
  LS_ERROR_INTERNAL = 11    /* a fault of the reader itself */
} ls_error_code;

#define LS_ERROR_TEXT_SIZE 1020
typedef struct ls_error {
  int32_t code; /* enum ls_error_code */
  /* A clause: what was tried, on what, and why it failed. It ends with a NUL, and is cut if it is
   * longer. */
  char text[LS_ERROR_TEXT_SIZE];
} ls_error;

/* `size` bytes, and a NUL behind them that does not count. `data` is never null; there may be NULs
 * within. */
typedef struct ls_bytes {
  const char* data;
  size_t size;
} ls_bytes;

/* ---- Targets: ls_close() ---- */

typedef struct ls_target ls_target;

/* Opens a process of this machine, by its number in the caller's pid namespace. It stops nothing.
 * The target can be used as long as any of its threads runs. */
LS_API ls_error_code ls_open_process(int32_t pid, ls_target** target, ls_error* error);

typedef struct ls_core_options {
  size_t size;                 /* sizeof(ls_core_options) */
  const char* executable;      /* the process's executable; if NULL, the core's name for it */
  const char* const* sysroots; /* tried in order; if there are none, "/" */
  size_t sysroot_count;
  const char* const* file_directories; /* searched for files by name and by build ID */
  size_t file_directory_count;
} ls_core_options;

/* Opens a core file of x86-64 or aarch64. `options` may be NULL. */
LS_API ls_error_code ls_open_core(const char* path, const ls_core_options* options,
                                  ls_target** target, ls_error* error);
LS_API void ls_close(ls_target* target);

LS_API int32_t ls_target_pid(const ls_target* target);

/* ---- Threads: ls_free_threads() ---- */

typedef struct ls_thread_list ls_thread_list;

/* Lists the threads that exist now (or in the core); they may end before they are read. */
LS_API ls_error_code ls_list_threads(const ls_target* target, ls_thread_list** threads,
                                     ls_error* error);
LS_API void ls_free_threads(ls_thread_list* threads);
LS_API size_t ls_thread_count(const ls_thread_list* threads);
/* Returns 0 beyond the end. */
LS_API int32_t ls_thread_id(const ls_thread_list* threads, size_t index);
/* Returns at most 15 bytes; nothing if the name is not known. */
LS_API ls_bytes ls_thread_name(const ls_thread_list* threads, size_t index);

/* ---- Plans: ls_free_plan() ---- */

typedef struct ls_plan ls_plan;

/* Finds out which modules publish labels, and how each one's variable is reached. It takes
 * milliseconds, mostly for opening files. Make a plan again when the target has loaded a library or
 * executed a program (an older plan is then refused with LS_ERROR_VANISHED), or when
 * ls_plan_again() is not 0; the target remembers files, so that later plans cost less. A target
 * without publishers is no error: ls_plan_absence() says why there are none. */
LS_API ls_error_code ls_make_plan(ls_target* target, ls_plan** plan, ls_error* error);
LS_API void ls_free_plan(ls_plan* plan);

/* Returns not 0 if the loader has not filled a publisher's slot yet. */
LS_API int ls_plan_again(const ls_plan* plan);
/* Returns in words why there are no publishers; nothing if there are some. */
LS_API ls_bytes ls_plan_absence(const ls_plan* plan);

/* Returns at most LS_MAX_PUBLISHERS. For an index beyond, the functions below return nothing, 0 or
 * NULL. */
LS_API size_t ls_publisher_count(const ls_plan* plan);
LS_API ls_bytes ls_publisher_path(const ls_plan* plan, size_t publisher);
/* Returns runtime address minus link-time address. It distinguishes copies of one file. */
LS_API uint64_t ls_publisher_load_bias(const ls_plan* plan, size_t publisher);
/* Returns "local exec", "TLSDESC (static)", ... */
LS_API ls_bytes ls_publisher_access_model(const ls_plan* plan, size_t publisher);
/* Returns the recipe for a BPF map, or for an implementation of your own; its layout is in
 * tls_recipe.h. */
LS_API const struct ls_tls_recipe* ls_publisher_recipe(const ls_plan* plan, size_t publisher);

/* Findings are what keeps modules from being read, or deviates from the ABI. */
LS_API size_t ls_finding_count(const ls_plan* plan);
/* Returns the index of the finding's publisher, or LS_NO_PUBLISHER for a module that is none. */
#define LS_NO_PUBLISHER SIZE_MAX
LS_API size_t ls_finding_publisher(const ls_plan* plan, size_t finding);
LS_API ls_bytes ls_finding_path(const ls_plan* plan, size_t finding); /* the module's path */
LS_API ls_bytes ls_finding_name(const ls_plan* plan, size_t finding); /* a stable word */
LS_API ls_bytes ls_finding_text(const ls_plan* plan, size_t finding); /* a clause */
LS_API ls_bytes ls_finding_fix(const ls_plan* plan, size_t finding);  /* a clause, or empty */

/* ---- Observations: ls_free_observation() ---- */

typedef struct ls_observation ls_observation;

/* Reads the labels of one thread. A live one is stopped with ptrace for as long as that takes and
 * let go whatever happens; no signal is sent to it. It needs the rights of ptrace(2), and no other
 * tracer. It fails with LS_ERROR_NOT_FOUND if the target has no such thread, and with
 * LS_ERROR_VANISHED if the thread has ended, or its process has executed another program since the
 * plan was made: then plan again.
 *
 * It takes some tens of microseconds. If all processors are busy, the thread may be held for some
 * milliseconds instead, unless the caller has CAP_SYS_NICE: then the calling thread has real-time
 * priority while it holds another.
 *
 * If nothing supplies a page of the target's memory (userfaultfd, a file system that hangs), the
 * call does not return, and the thread is held for as long: only the end of the calling process
 * helps. Read targets that you do not trust in a process of its own.
 *
 * SIGCHLD is raised in the calling process for each stop, unless it is ignored or its handler has
 * SA_NOCLDSTOP; and a waitpid() for any child may return the number of the stopped thread. Neither
 * disturbs the reading. */
LS_API ls_error_code ls_read_thread(const ls_target* target, const ls_plan* plan, int32_t tid,
                                    ls_observation** observation, ls_error* error);
/* Does the same for a thread pointer that you know (fs base, TPIDR_EL0), and stops nothing: a
 * thread that runs meanwhile may be seen in the middle of a change. */
LS_API ls_error_code ls_read_thread_at(const ls_target* target, const ls_plan* plan,
                                       uint64_t thread_pointer, ls_observation** observation,
                                       ls_error* error);
/* Decodes labels that a BPF program of yours has read (read_labels.bpf.h): a ls_label_head and what
 * follows it, exactly `size` bytes, as label_blocks.h draws them. It makes labels of raw blocks,
 * too, and merges publishers, as ls_read_thread() does. It fails with LS_ERROR_MALFORMED if the
 * bytes contradict themselves. */
LS_API ls_error_code ls_decode_labels(const void* bytes, size_t size, ls_observation** observation,
                                      ls_error* error);
/* Does the same with the plan of the process that the bytes are from. Some publishers
 * (OpenTelemetry's) send numbers for keys, and the plan has their names, which the process
 * publishes. Without them such labels are left out, and LS_UNKNOWN_KEY is set: then plan again, and
 * decode again. */
LS_API ls_error_code ls_decode_labels_of(const ls_plan* plan, const void* bytes, size_t size,
                                         ls_observation** observation, ls_error* error);
LS_API void ls_free_observation(ls_observation* observation);

LS_API enum ls_outcome ls_observed_outcome(const ls_observation* observation);
/* Returns flags of enum ls_sample_flag. */
LS_API uint32_t ls_observed_flags(const ls_observation* observation);
LS_API uint64_t ls_observed_thread_pointer(const ls_observation* observation);
/* Returns the nanoseconds for which the thread was stopped; 0 if it was not. */
LS_API uint64_t ls_observed_hold_time(const ls_observation* observation);

/* Labels come in the order in which keys appear, publisher by publisher. A key is there once for
 * each publisher that gives it another value (then LS_KEY_CONFLICT is set). For an index beyond,
 * the results are empty, and LS_NO_PUBLISHER. */
LS_API size_t ls_label_count(const ls_observation* observation);
LS_API ls_bytes ls_label_key(const ls_observation* observation, size_t label);
LS_API ls_bytes ls_label_value(const ls_observation* observation, size_t label);
LS_API size_t ls_label_publisher(const ls_observation* observation, size_t label);

/* Return one word for machines ("labelled", "not-resident", ...), and a clause for people. The
 * strings are static. */
LS_API const char* ls_outcome_name(unsigned outcome);
LS_API const char* ls_outcome_text(unsigned outcome);

/* ---- Explanations: ls_free_explanation() ---- */

typedef struct ls_explanation ls_explanation;

/* Plans once more and explains what it saw, module by module, for the person whose labels do not
 * show up. It is slower than ls_make_plan(). */
LS_API ls_error_code ls_explain_plan(ls_target* target, ls_explanation** explanation,
                                     ls_error* error);
/* Explains the way to one thread's labels, read by read. It stops a live thread for as long as that
 * takes. */
LS_API ls_error_code ls_explain_thread(const ls_target* target, const ls_plan* plan, int32_t tid,
                                       ls_explanation** explanation, ls_error* error);
LS_API void ls_free_explanation(ls_explanation* explanation);

/* The lines are sentences, in order. */
LS_API size_t ls_explanation_line_count(const ls_explanation* explanation);
LS_API ls_bytes ls_explanation_line(const ls_explanation* explanation, size_t line);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */

#endif /* LABELSCOPE_LABELSCOPE_H */
