/* Prints the labels of every thread of a process or of a core file, and how they were found:
 *
 *   print_labels PID|CORE
 *
 * One line a thread: tid, outcome, and key=value@publisher, separated by tabs; then the explanation
 * of the first thread, each line with "# " before it. */
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

static int open_target(const char* name, ls_target** target, ls_error* error) {
  char* end;
  errno = 0;
  const long pid = strtol(name, &end, 10);
  if (*name == '\0' || *end != '\0' || errno != 0 || pid > INT32_MAX || pid <= 0) {
    return ls_open_core(name, NULL, target, error);
  }
  return ls_open_process((int32_t)pid, target, error);
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

static int print_threads(const ls_target* target, const ls_plan* plan,
                         const ls_thread_list* threads, ls_error* error) {
  for (size_t i = 0; i < ls_thread_count(threads); i++) {
    const int32_t tid = ls_thread_id(threads, i);
    ls_observation* seen;
    const ls_error_code code = ls_read_thread(target, plan, tid, &seen, error);
    if (code == LS_ERROR_NOT_FOUND || code == LS_ERROR_VANISHED) continue; /* it has ended */
    if (code != LS_OK) return code;
    print_thread(plan, tid, seen);
    ls_free_observation(seen);
  }
  return LS_OK;
}

static void print_explanation(const ls_explanation* explanation) {
  for (size_t i = 0; i < ls_explanation_line_count(explanation); i++) {
    fputs("# ", stdout);
    print_bytes(stdout, ls_explanation_line(explanation, i));
    putchar('\n');
  }
}

static int explain(ls_target* target, const ls_plan* plan, const ls_thread_list* threads,
                   ls_error* error) {
  ls_explanation* explanation;
  int code = ls_explain_plan(target, &explanation, error);
  if (code != LS_OK) return code;
  print_explanation(explanation);
  ls_free_explanation(explanation);
  code = ls_explain_thread(target, plan, ls_thread_id(threads, 0), &explanation, error);
  if (code != LS_OK) return code;
  print_explanation(explanation);
  ls_free_explanation(explanation);
  return LS_OK;
}

int main(int argc, char** argv) {
  ls_error error = {0};
  ls_target* target = NULL;
  ls_plan* plan = NULL;
  ls_thread_list* threads = NULL;
  if (argc != 2) {
    fputs("usage: print_labels PID|CORE\n", stderr);
    return 2;
  }
  int code = open_target(argv[1], &target, &error);
  if (code == LS_OK) code = ls_make_plan(target, &plan, &error);
  if (code == LS_OK) code = ls_list_threads(target, &threads, &error);
  if (code == LS_OK) code = print_threads(target, plan, threads, &error);
  if (code == LS_OK) code = explain(target, plan, threads, &error);
  if (code != LS_OK) {
    fputs("print_labels: ", stderr);
    print_bytes(stderr, (ls_bytes){error.text, strlen(error.text)});
    fputc('\n', stderr);
  }
  ls_free_threads(threads);
  ls_free_plan(plan);
  ls_close(target);
  return code == LS_OK ? 0 : 1;
}
