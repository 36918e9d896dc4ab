/* Prints the labels of every thread of a process or of a core file, and how they were found:
 *
 *   print_labels [-p PRESET]... [-v VARIABLE]... PID|CORE
 *
 * PRESET is the name of a preset or the path of its file, VARIABLE is as ls_want_variable() takes
 * it. One line a thread: tid, outcome, and key=value@publisher, separated by tabs. Then, each line
 * with "# " before it: what the process publishes about itself, what was wanted and is not there,
 * and the explanation of the first thread. */
#include <errno.h>
#include <labelscope/labelscope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a target may hold control characters, which a terminal must not obey. */
static void print_bytes(FILE* out, ls_bytes bytes) {
  for (size_t i = 0; i < bytes.size; i++) {
    const unsigned char byte = (unsigned char)bytes.data[i];
    if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
      fputc(byte, out);
    } else {
      fprintf(out, "\\x%02x", byte);
    }
  }
}

static ls_error_code open_target(const char* name, ls_target** target, ls_error* error) {
  char* end;
  errno = 0;
  const long pid = strtol(name, &end, 10);
  if (*name == '\0' || *end != '\0' || errno != 0 || pid > INT32_MAX || pid <= 0) {
    return ls_open_core(name, NULL, target, error);
  }
  return ls_open_process((int32_t)pid, target, error);
}

static ls_error_code want_preset(ls_target* target, const char* name, ls_error* error) {
  ls_preset* preset;
  ls_error_code code = ls_read_preset(name, &preset, error);
  if (code == LS_OK) code = ls_want_preset(target, preset, NULL, 0, error);
  ls_free_preset(preset); /* the target has what it needs */
  return code;
}

static ls_error_code want_all(ls_target* target, int argc, char** argv, ls_error* error) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const ls_error_code code = strcmp(argv[i], "-p") == 0
                                   ? want_preset(target, argv[i + 1], error)
                                   : ls_want_variable(target, argv[i + 1], error);
    if (code != LS_OK) return code;
  }
  return LS_OK;
}

/* A profiler that runs for long keeps its plan, and makes another one when this one is not good any
 * more. */
static ls_error_code keep_plan(ls_target* target, ls_plan** plan, ls_error* error) {
  ls_plan_state state = LS_PLAN_NEW_CODE;
  if (*plan != NULL) {
    const ls_error_code code = ls_check_plan(target, *plan, &state, error);
    if (code != LS_OK) return code;
  }
  if (state == LS_PLAN_GOOD) return LS_OK;
  ls_free_plan(*plan);
  return ls_make_plan(target, plan, error);
}

static void print_thread(const ls_plan* plan, int32_t tid, const ls_observation* seen) {
  printf("%d\t%s", (int)tid, ls_outcome_name(ls_observed_outcome(seen)));
  for (size_t i = 0; i < ls_label_count(seen); i++) {
    putchar('\t');
    print_bytes(stdout, ls_label_key(seen, i));
    putchar('=');
    print_bytes(stdout, ls_label_value(seen, i));
    putchar('@');
    print_bytes(stdout, ls_publisher_path(plan, ls_label_publisher(seen, i)));
  }
  putchar('\n');
}

static void print_problem(const ls_snapshot* snapshot, size_t thread) {
  const ls_bytes problem = ls_snapshot_problem(snapshot, thread);
  if (problem.size == 0) return;
  printf("# thread %d: ", (int)ls_snapshot_thread_id(snapshot, thread));
  print_bytes(stdout, problem);
  putchar('\n');
}

static void print_threads(const ls_plan* plan, const ls_snapshot* snapshot) {
  for (size_t i = 0; i < ls_snapshot_thread_count(snapshot); i++) {
    print_thread(plan, ls_snapshot_thread_id(snapshot, i), ls_snapshot_observation(snapshot, i));
    print_problem(snapshot, i);
  }
}

static void print_facts(const ls_plan* plan) {
  for (size_t i = 0; i < ls_attribute_count(plan); i++) {
    fputs("# the process says ", stdout);
    print_bytes(stdout, ls_attribute_key(plan, i));
    putchar('=');
    print_bytes(stdout, ls_attribute_value(plan, i));
    putchar('\n');
  }
  for (size_t i = 0; i < ls_finding_count(plan); i++) {
    if (ls_finding_wanted(plan, i) == LS_NOT_WANTED) continue;
    fputs("# not there: ", stdout);
    print_bytes(stdout, ls_finding_text(plan, i));
    putchar('\n');
  }
}

static void print_explanation(const ls_explanation* explanation) {
  for (size_t i = 0; i < ls_explanation_line_count(explanation); i++) {
    fputs("# ", stdout);
    print_bytes(stdout, ls_explanation_line(explanation, i));
    putchar('\n');
  }
}

static ls_error_code explain(ls_target* target, const ls_plan* plan, int32_t tid, ls_error* error) {
  ls_explanation* explanation;
  ls_error_code code = ls_explain_plan(target, &explanation, error);
  if (code != LS_OK) return code;
  print_explanation(explanation);
  ls_free_explanation(explanation);
  code = ls_explain_thread(target, plan, tid, &explanation, error);
  if (code != LS_OK) return code;
  print_explanation(explanation);
  ls_free_explanation(explanation);
  return LS_OK;
}

static int is_usage(int argc, char** argv) {
  if (argc % 2 != 0) return 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "-p") != 0 && strcmp(argv[i], "-v") != 0) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  ls_error error = {0};
  ls_target* target = NULL;
  ls_plan* plan = NULL;
  ls_snapshot* snapshot = NULL;
  if (!is_usage(argc, argv)) {
    fputs("usage: print_labels [-p PRESET]... [-v VARIABLE]... PID|CORE\n", stderr);
    return 2;
  }
  ls_error_code code = open_target(argv[argc - 1], &target, &error);
  if (code == LS_OK) code = want_all(target, argc, argv, &error);
  if (code == LS_OK) code = keep_plan(target, &plan, &error);
  if (code == LS_OK) code = keep_plan(target, &plan, &error); /* before each reading */
  if (code == LS_OK) code = ls_read_threads(target, plan, NULL, &snapshot, &error);
  if (code == LS_OK) {
    print_threads(plan, snapshot);
    print_facts(plan);
    code = explain(target, plan, ls_snapshot_thread_id(snapshot, 0), &error);
  }
  if (code != LS_OK) {
    fputs("print_labels: ", stderr);
    print_bytes(stderr, (ls_bytes){error.text, strlen(error.text)});
    fputc('\n', stderr);
  }
  ls_free_snapshot(snapshot);
  ls_free_plan(plan);
  ls_close(target);
  return code == LS_OK ? 0 : 1;
}
