/* Several publishers in one process that do not agree: each sets the key "tenant" to a value of its
 * own, "shared" to the same value, and one key that only it has.
 *
 *   rivals [--dlopen PATH | --dlmopen PATH]...
 *
 * The first publisher is the executable (publisher.c is linked into it); --dlopen adds a library,
 * --dlmopen a copy of one in a namespace of its own, with a libc of its own. Two threads label
 * themselves through all of them, print their truth (tests/README.md), and compute until stdin
 * closes. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "publisher.h"
#include "truth.h"

static publisher_variable_fn* variables[kMaxPublishers];
static const char* modules[kMaxPublishers];
static int publishers;
static struct truth truths[2] = {{.kind = "main"}, {.kind = "worker"}};
static pthread_barrier_t labelled;

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static void load(const char* path, Lmid_t namespace) {
  if (publishers == kMaxPublishers) truth_cannot(path, "too many publishers");
  void* library = dlmopen(namespace, path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) truth_cannot("dlmopen", dlerror());
  modules[publishers] = base_name(path);
  variables[publishers] = (publisher_variable_fn*)dlsym(library, "publisher_variable");
  if (variables[publishers] == NULL) truth_cannot("dlsym", dlerror());
  publishers++;
}

static void add(struct truth_variable* variable, const char* key, const char* value) {
  const size_t slot = variable->set.count++;
  variable->storage[slot].key = (custom_labels_string_t){strlen(key), (const unsigned char*)key};
  variable->storage[slot].value =
      (custom_labels_string_t){strlen(value), (const unsigned char*)value};
  variable->shown[slot] = 1;
}

static void publish(struct truth_variable* variable, int publisher) {
  variable->set.storage = variable->storage;
  variable->set.capacity = kMaxTruthLabels;
  snprintf(variable->text[0], sizeof variable->text[0], "of-publisher-%d", publisher);
  snprintf(variable->text[1], sizeof variable->text[1], "only.%d", publisher);
  add(variable, "tenant", variable->text[0]);
  add(variable, "shared", "the same");
  add(variable, variable->text[1], "yes");
  variable->address = variables[publisher]();
  *variables[publisher]() = &variable->set;
}

static void label_thread(struct truth* truth) {
  truth_take_identity(truth);
  for (int i = 0; i < publishers; i++) publish(&truth->variables[i], i);
  pthread_barrier_wait(&labelled);
}

static void* run_worker(void* ignored) {
  (void)ignored;
  label_thread(&truths[1]);
  for (volatile unsigned i = 0;; i++) {
  }
  return NULL;
}

static void compute_until_stdin_closes(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char ignored[64];
  for (;;) {
    for (volatile unsigned i = 0; i < 1u << 20; i++) {
    }
    if (poll(&input, 1, 0) > 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0) _exit(0);
  }
}

int main(int argc, char** argv) {
  pthread_t worker;
  modules[publishers] = base_name(argv[0]);
  variables[publishers++] = publisher_variable;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--dlopen") == 0) {
      load(argv[i + 1], LM_ID_BASE);
    } else if (strcmp(argv[i], "--dlmopen") == 0) {
      load(argv[i + 1], LM_ID_NEWLM);
    } else {
      truth_cannot(argv[i], "no such option");
    }
  }
  pthread_barrier_init(&labelled, NULL, 2);
  if (pthread_create(&worker, NULL, run_worker, NULL) != 0) {
    truth_cannot("pthread_create", "no more threads");
  }
  label_thread(&truths[0]);
  for (int i = 0; i < 2; i++) truth_print(&truths[i], modules, publishers);
  puts("ready");
  fflush(stdout);
  compute_until_stdin_closes();
}
