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
 * Threads. Different objects are independent. Only targets change: any number of threads may use
 * one plan, preset, thread list, observation, snapshot, inspection or explanation at the same time.
 * ls_read_thread, ls_read_thread_at, ls_read_threads, ls_explain_thread and ls_check_plan may run
 * on several threads at once with one target; each other function needs the target for itself. A
 * thread has one tracer, so readings that would stop the same thread at the same time refuse each
 * other.
 *
 * Bytes. Keys, values, names and paths come from the target, and so do parts of error.text and of
 * explanations. They are not text until you make them text: escape them for the place they go to.
 *
 * Stability. Handles are opaque; ls_error, ls_bytes and ls_tls_recipe never change; options start
 * with their size, so that they can grow: a program that was built when they were shorter goes on
 * to work. Functions are only added; the loader refuses a program that uses a newer one with an
 * older library, when it starts. Enumerations grow at their end. docs/embedding.md has the whole
 * policy. */
#ifndef LABELSCOPE_LABELSCOPE_H
#define LABELSCOPE_LABELSCOPE_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stddef.h>
#include <stdint.h>

#include "labelscope/outcome.h"
#include "labelscope/preset_program.h"
#include "labelscope/tls_recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LS_API __attribute__((visibility("default")))

/* This grows with each function or enumerator that is added; ls_api_version() returns the library's
 * own. */
#define LS_API_VERSION 2
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
  LS_ERROR_ARGUMENT = 10,   /* a null pointer, options of an unknown size, a name given twice */
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

/* ---- Presets: ls_free_preset() ---- */

/* A preset says where a stock server has its labels, which publishes none: a text file
 * (docs/presets.md). It may be damaged or hostile: it is bounded, and steers nothing but reads. */
typedef struct ls_preset ls_preset;

/* Reads a preset by its name, "redis", or by the path of a file, if there is a slash in it. Names
 * are looked for in /etc/labelscope/presets, then in the share/labelscope/presets that is installed
 * beside this library (or beside the program that it is linked into). Fails with
 * LS_ERROR_NOT_FOUND; with LS_ERROR_PERMISSION if others than root, the caller, or the library's
 * owner may have written the file; and as ls_parse_preset() does. error.text has the file, the line
 * and the reason. */
LS_API ls_error_code ls_read_preset(const char* name, ls_preset** preset, ls_error* error);
/* Parses the text of a preset's file: `size` bytes, at most 64 KiB. Fails with LS_ERROR_MALFORMED:
 * error.text begins with "line N: ", if it is about one. */
LS_API ls_error_code ls_parse_preset(const char* text, size_t size, ls_preset** preset,
                                     ls_error* error);
LS_API void ls_free_preset(ls_preset* preset);
LS_API ls_bytes ls_preset_name(const ls_preset* preset);
LS_API size_t ls_preset_label_count(const ls_preset* preset);
LS_API ls_bytes ls_preset_label_key(const ls_preset* preset, size_t label);
/* Returns not 0 for a label that is read only if it is named, such as the text of a query. */
LS_API int ls_preset_label_is_private(const ls_preset* preset, size_t label);

/* ---- What plans of a target look for besides ---- */

/* Both take effect with the next plan, and hold for as long as the target is open. The successful
 * calls of both for one target are numbered from 0 on, together: ls_finding_wanted(). */

/* Reads a variable of the program as a label, thread-local or of the process:
 *
 *   [MODULE:]SYMBOL[+N][->[+]N...]:TYPE[=KEY]    "libshop.so:current->+16:cstr=user"
 *   @title[=KEY]                                 what the process has for its first argument now
 *
 * Each is a publisher of its own, of the LS_MAX_PUBLISHERS of a process. Fails with
 * LS_ERROR_MALFORMED if the spec cannot be parsed (error.text says what is wrong, and which types
 * there are), with LS_ERROR_ARGUMENT if another variable of the target has its key, and with
 * LS_ERROR_LIMIT if there are LS_MAX_PUBLISHERS of them. */
LS_API ls_error_code ls_want_variable(ls_target* target, const char* spec, ls_error* error);
/* Reads what a preset finds. Of its private labels, those that are named in `labels` are read (a
 * list of `label_count` keys; it may be NULL if that is 0). Fails with LS_ERROR_NOT_FOUND if the
 * preset has no label of such a name, and with LS_ERROR_ARGUMENT if the target has a preset of its
 * name. */
LS_API ls_error_code ls_want_preset(ls_target* target, const ls_preset* preset,
                                    const char* const* labels, size_t label_count, ls_error* error);

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
 * milliseconds, mostly for opening files. Make a plan again when ls_check_plan() says so; the
 * target remembers files, so that later plans cost less. A target without publishers is no error:
 * ls_plan_absence() says why there are none. */
LS_API ls_error_code ls_make_plan(ls_target* target, ls_plan** plan, ls_error* error);
LS_API void ls_free_plan(ls_plan* plan);

typedef enum ls_plan_state {
  LS_PLAN_GOOD = 0,
  LS_PLAN_UNFILLED = 1,     /* the loader had not filled a slot yet, and may have done so since */
  LS_PLAN_NEW_FACTS = 2,    /* what the process publishes about itself is new, replaced, or gone */
  LS_PLAN_NEW_CODE = 3,     /* other files are mapped executable than then: dlopen(), dlclose() */
  LS_PLAN_OTHER_PROGRAM = 4 /* it has executed a program: readings fail with LS_ERROR_VANISHED */
} ls_plan_state;

/* Says whether a plan is still good, without opening files: by /proc/PID/auxv, /proc/PID/maps and
 * one word of memory. That takes a tenth of a millisecond, and more for a process with thousands of
 * mappings. Of several changes, the one with the greatest number is returned. A core file does not
 * change. Fails with LS_ERROR_VANISHED if the process has ended, and with LS_ERROR_NOT_FOUND if the
 * target is another core file than the plan's. */
LS_API ls_error_code ls_check_plan(const ls_target* target, const ls_plan* plan,
                                   ls_plan_state* state, ls_error* error);
/* Returns not 0 if the loader had not filled a publisher's slot yet. */
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
/* Returns what the caller has asked for: "request_id:u64" (a variable), "preset redis 7.0.6-15". It
 * is empty for a module that publishes by itself; recipe->source says how. */
LS_API ls_bytes ls_publisher_named(const ls_plan* plan, size_t publisher);
/* Returns the recipe for a BPF map, or for an implementation of your own; its layout is in
 * tls_recipe.h. */
LS_API const struct ls_tls_recipe* ls_publisher_recipe(const ls_plan* plan, size_t publisher);

/* Returns the program of a publisher by a preset, for the BPF map of programs: your program runs it
 * (read_labels.bpf.h, LS_WITH_PRESETS) where the recipe names its number, the key in that map.
 * Equal programs with equal keys have the same number, in whatever process. NULL and 0 for another
 * publisher. */
LS_API const struct ls_preset_program* ls_publisher_program(const ls_plan* plan, size_t publisher);
LS_API uint32_t ls_publisher_program_number(const ls_plan* plan, size_t publisher);

/* Findings are what keeps modules from being read, or deviates from the ABI; what was wanted and is
 * not there; and why less is known of the process than it publishes about itself. */
LS_API size_t ls_finding_count(const ls_plan* plan);
/* Returns the index of the finding's publisher, or LS_NO_PUBLISHER for a module that is none. */
#define LS_NO_PUBLISHER SIZE_MAX
LS_API size_t ls_finding_publisher(const ls_plan* plan, size_t finding);
/* Returns the number of the ls_want_...() call of which no module has what it asked for, or
 * LS_NOT_WANTED for a finding about something else. */
#define LS_NOT_WANTED SIZE_MAX
LS_API size_t ls_finding_wanted(const ls_plan* plan, size_t finding);
/* Returns the module's path; nothing if the finding is about no module. */
LS_API ls_bytes ls_finding_path(const ls_plan* plan, size_t finding);
LS_API ls_bytes ls_finding_name(const ls_plan* plan, size_t finding); /* a stable word */
LS_API ls_bytes ls_finding_text(const ls_plan* plan, size_t finding); /* a clause */
LS_API ls_bytes ls_finding_fix(const ls_plan* plan, size_t finding);  /* a clause, or empty */

/* ---- What a process publishes about itself ---- */

/* OpenTelemetry's process context (OTEP 4719), as it was when the plan was made. Attributes name
 * the process ("service.name"), sorted by key, each key once. Beyond the end they are empty. */
LS_API size_t ls_attribute_count(const ls_plan* plan);
LS_API ls_bytes ls_attribute_key(const ls_plan* plan, size_t attribute);
LS_API ls_bytes ls_attribute_value(const ls_plan* plan, size_t attribute);
/* Returns when the process published it, in nanoseconds of CLOCK_BOOTTIME; 0 if it has published
 * nothing that could be read whole. */
LS_API uint64_t ls_context_time(const ls_plan* plan);
/* Returns not 0 if it is in the process that this one was forked from. */
LS_API int ls_context_is_of_parent(const ls_plan* plan);
/* Returns how records of its threads are laid out, "tlsdesc_v1_dev"; empty if nothing is said. */
LS_API ls_bytes ls_context_schema(const ls_plan* plan);
/* Return the keys of such records by their numbers, from 0 on; empty for one that cannot be used.
 */
LS_API size_t ls_context_key_count(const ls_plan* plan);
LS_API ls_bytes ls_context_key(const ls_plan* plan, size_t number);

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
 * thread that runs meanwhile may be seen in the middle of a change. Which thread it is, is not
 * known: what only the first thread has (a variable of the process that is not thread-local) is
 * left out, and so is what needs registers. */
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
 * (OpenTelemetry's, and presets) send numbers for keys, and the plan has their names. Without them
 * such labels are left out, and LS_UNKNOWN_KEY is set: then plan again, and decode again. */
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

/* ---- All threads, each once: ls_free_snapshot() ---- */

typedef struct ls_snapshot ls_snapshot;

typedef struct ls_snapshot_options {
  size_t size; /* sizeof(ls_snapshot_options) */
  /* For how long to wait for threads that do not stop at once (they wait for a processor or for a
   * disk), for all of them together; 0 is a second. Meanwhile the others are read. */
  uint64_t patience_ns;
} ls_snapshot_options;

/* Reads all threads, one after the other, as ls_read_thread() reads one, until no new ones appear.
 * Stops happen on a thread that is made for that; each thread of the target is held for as short as
 * it can be. `options` may be NULL. A thread that cannot be read is in the snapshot, with an
 * outcome and ls_snapshot_problem(). Fails with LS_ERROR_PERMISSION if no thread could be stopped,
 * and with LS_ERROR_VANISHED if the process has ended, or runs another program than the plan was
 * made for. Of a core file, it stops nothing.
 *
 * A BPF iterator reads all threads without stopping them. This library loads no BPF programs: yours
 * sends what it has read, and ls_decode_labels_of() makes observations of that. */
LS_API ls_error_code ls_read_threads(const ls_target* target, const ls_plan* plan,
                                     const ls_snapshot_options* options, ls_snapshot** snapshot,
                                     ls_error* error);
LS_API void ls_free_snapshot(ls_snapshot* snapshot);
/* Threads are sorted by number. Beyond the end, results are 0, '?', empty, or NULL. */
LS_API size_t ls_snapshot_thread_count(const ls_snapshot* snapshot);
LS_API int32_t ls_snapshot_thread_id(const ls_snapshot* snapshot, size_t thread);
LS_API ls_bytes ls_snapshot_thread_name(const ls_snapshot* snapshot, size_t thread);
/* Returns R, S, D, ... of proc(5), as it was before the thread was touched; '?' if it is not known.
 */
LS_API char ls_snapshot_thread_state(const ls_snapshot* snapshot, size_t thread);
/* Returns what was read of a thread. It belongs to the snapshot: do not free it. */
LS_API const ls_observation* ls_snapshot_observation(const ls_snapshot* snapshot, size_t thread);
/* Returns why a thread could not be read, or which memory a core file lacks; mostly nothing. */
LS_API ls_bytes ls_snapshot_problem(const ls_snapshot* snapshot, size_t thread);
/* Returns how many threads ended before they could be read. They are not in the snapshot. */
LS_API size_t ls_snapshot_vanished(const ls_snapshot* snapshot);
/* Returns not 0 if threads were started faster than they could be read, so that some are left out.
 */
LS_API int ls_snapshot_is_incomplete(const ls_snapshot* snapshot);

/* ---- Files without a process: ls_free_inspection() ---- */

typedef struct ls_inspection ls_inspection;

typedef enum ls_verdict {
  LS_VERDICT_NOTHING = 0,  /* the file publishes no labels by itself */
  LS_VERDICT_BROKEN = 1,   /* it tries to, but no reader can use it */
  LS_VERDICT_READABLE = 2, /* this library reads it; readers that are strict do not */
  LS_VERDICT_COMPLIANT = 3 /* as the ABI of its source requires */
} ls_verdict;

/* Says what a program or library publishes, and which of these presets it fits (`preset_count` of
 * them; the list may be NULL if that is 0). No process is needed, and nothing of the file is run.
 * Source: Custom Labels ABI v1, and the ABIs of the other sources (tls_recipe.h). Fails with
 * LS_ERROR_NOT_FOUND or LS_ERROR_PERMISSION if the file cannot be opened; with LS_ERROR_UNSUPPORTED
 * if it is no regular file, or for another processor; with LS_ERROR_MALFORMED if it is not ELF, or
 * contradicts itself; with LS_ERROR_LIMIT if a table in it has an impossible size. */
LS_API ls_error_code ls_inspect_file(const char* path, const ls_preset* const* presets,
                                     size_t preset_count, ls_inspection** inspection,
                                     ls_error* error);
LS_API void ls_free_inspection(ls_inspection* inspection);
LS_API ls_verdict ls_inspected_verdict(const ls_inspection* inspection);
/* Returns the source that the verdict is about: that by which the file can be read, or tries to
 * publish; else ABI v1. */
LS_API enum ls_source ls_inspected_source(const ls_inspection* inspection);
/* Returns the source's name, "ABI v1"; and the file's build ID in hexadecimal, empty without one.
 */
LS_API ls_bytes ls_inspected_source_name(const ls_inspection* inspection);
LS_API ls_bytes ls_inspected_build_id(const ls_inspection* inspection);
/* The findings are as those of a plan: a stable word, a clause, and the smallest fix or nothing. */
LS_API size_t ls_inspected_finding_count(const ls_inspection* inspection);
LS_API ls_bytes ls_inspected_finding_name(const ls_inspection* inspection, size_t finding);
LS_API ls_bytes ls_inspected_finding_text(const ls_inspection* inspection, size_t finding);
LS_API ls_bytes ls_inspected_finding_fix(const ls_inspection* inspection, size_t finding);

typedef enum ls_preset_fit {
  LS_PRESET_OTHER_FILE = 0,    /* the file has not the symbols of the server */
  LS_PRESET_OTHER_VERSION = 1, /* it has, but no variant of the preset is for this version */
  LS_PRESET_FITS = 2
} ls_preset_fit;
/* `preset` is an index of the list that was inspected with. Beyond it, nothing fits. */
LS_API ls_preset_fit ls_inspected_preset_fit(const ls_inspection* inspection, size_t preset);
/* Returns the variant that fits, "7.0.6-15"; and why the preset cannot be used. Each may be empty.
 */
LS_API ls_bytes ls_inspected_preset_variant(const ls_inspection* inspection, size_t preset);
LS_API ls_bytes ls_inspected_preset_problem(const ls_inspection* inspection, size_t preset);

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
