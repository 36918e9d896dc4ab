// A profiler in a page: it shows which thread runs with which labels, 99 times a second and CPU.
//
//  profiler PID SAMPLES
//
// Each sample is one line: tid, outcome, and key=value@publisher, separated by tabs. Exit status 77
// means that this kernel or user cannot do BPF.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <labelscope/label_blocks.h>
#include <labelscope/labelscope.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler.skel.h"

static long samples_left;
static ls_plan* plan;

// Bytes of a target may hold control characters, which a terminal must not obey.
static void print_bytes(FILE* out, const void* bytes, size_t size) {
  for (const unsigned char *byte = bytes, *end = byte + size; byte != end; byte++) {
    fprintf(out, *byte >= 0x20 && *byte < 0x7f && *byte != '\\' ? "%c" : "\\x%02x", *byte);
  }
}

static int print_sample(void* ignored, void* record, size_t size) {
  struct ls_label_cursor cursor;
  struct ls_label_view label;
  const __u64* tid = record; /* what the BPF program put before the labels */
  const struct ls_label_head* labels = (const void*)(tid + 1);
  (void)ignored;
  if (samples_left-- <= 0) return 0;
  if (ls_open_labels(&cursor, (const unsigned char*)labels, size - sizeof(*tid)) != NULL) return 0;
  printf("%u\t%s", (unsigned)*tid, ls_outcome_name(labels->outcome));
  while (ls_next_label(&cursor, &label)) {
    if (ls_is_repeated(&cursor, &label)) continue;
    const ls_bytes publisher = ls_publisher_path(plan, label.publisher);
    putchar('\t');
    print_bytes(stdout, label.key, label.key_length);
    putchar('=');
    print_bytes(stdout, label.value, label.value_length);
    putchar('@');
    print_bytes(stdout, publisher.data, publisher.size);
  }
  putchar('\n');
  return 0;
}

static int fail(const char* what, const char* why) {
  fprintf(stderr, "profiler: %s: ", what);
  print_bytes(stderr, why, strlen(why));
  fputc('\n', stderr);
  return 1;
}

static int refuse(const char* what, int error) {
  fail(what, strerror(error));
  return error == EPERM || error == EACCES || error == ENOSYS || error == ENOENT ? 77 : 1;
}

// The process's recipes go into the map unchanged.
static int load_recipes(int map, int32_t pid) {
  struct ls_recipes recipes = {0};
  ls_target* target;
  ls_error error;
  if (ls_open_process(pid, &target, &error) != LS_OK) return fail("target", error.text);
  if (ls_make_plan(target, &plan, &error) != LS_OK) return fail("plan", error.text);
  ls_close(target);
  if (ls_publisher_count(plan) == 0) return fail("no labels", ls_plan_absence(plan).data);
  recipes.count = (uint32_t)ls_publisher_count(plan);
  for (uint32_t i = 0; i < recipes.count; i++) recipes.recipe[i] = *ls_publisher_recipe(plan, i);
  return bpf_map_update_elem(map, &pid, &recipes, BPF_ANY) == 0 ? 0 : refuse("map", errno);
}

static int attach(const struct bpf_program* program) {
  struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                  .config = PERF_COUNT_SW_CPU_CLOCK,
                                  .size = sizeof(event),
                                  .sample_freq = 99,
                                  .freq = 1};
  for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
    const int fd = (int)syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == ENODEV) continue;  // the processor is off
    if (fd < 0) return refuse("perf_event_open", errno);
    if (bpf_program__attach_perf_event(program, fd) == NULL) return refuse("attach", errno);
  }
  return 0;
}

int main(int argc, char** argv) {
  struct stat namespace;
  if (argc != 3) return fail("usage", "profiler PID SAMPLES");
  samples_left = atol(argv[2]);
  struct profiler_bpf* program = profiler_bpf__open();
  if (program == NULL || stat("/proc/self/ns/pid", &namespace) != 0) return refuse("open", errno);
  program->rodata->namespace_device = namespace.st_dev;
  program->rodata->namespace_inode = namespace.st_ino;
  bpf_map__set_max_entries(program->maps.entries, (__u32)libbpf_num_possible_cpus());
  if (profiler_bpf__load(program) != 0) return refuse("load", errno);
  int status = load_recipes(bpf_map__fd(program->maps.recipes), atoi(argv[1]));
  if (status == 0) status = attach(program->progs.sample);
  struct ring_buffer* ring =
      ring_buffer__new(bpf_map__fd(program->maps.ring), print_sample, NULL, NULL);
  while (status == 0 && ring != NULL && samples_left > 0) ring_buffer__poll(ring, 100);
  ring_buffer__free(ring);
  profiler_bpf__destroy(program);
  ls_free_plan(plan);
  return status;
}
