/* The program of the resolver matrix: threads that label themselves through one or more publishers,
 * print their truth, and stay until stdin closes.
 *
 *   host [--threads one|many|untouched|all] [--stay pause|burn] [--module NAME] [--reload PATH]
 *        [--crowd PATH] [--dlopen PATH]...
 *
 * Built with LINKED_PUBLISHER it has one from the start (in the executable or a library; --module
 * is that file's name), with CAN_DLOPEN it loads more. --reload loads a publisher, lets every
 * thread that is there use it, and unloads it, before the others come: DTVs keep the leftovers.
 * --crowd loads many copies of a library first. Threads:
 * - one: main alone;
 * - many: also a worker from before the dlopen, a worker from after it, and a thread that touched
 *   the variable and left it null;
 * - untouched: also a worker, and two threads, one from before and one from after the dlopen, that
 *   never touch the variable: even taking its address would allocate it;
 * - all: all of these kinds at once. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "publisher.h"
#include "truth.h"

enum {
  kMaxThreads = 6,
  /* These are more than the 14 entries that glibc keeps in reserve. */
  kCrowd = 24
};

struct plan_of_thread {
  const char* kind;
  int early; /* started before the dlopen */
};

static const struct plan_of_thread kMany[] = {
    {"main", 1}, {"worker", 1}, {"worker", 0}, {"unset", 0}, {NULL, 0}};
static const struct plan_of_thread kUntouched[] = {
    {"main", 1}, {"untouched", 1}, {"untouched", 0}, {"worker", 0}, {NULL, 0}};
static const struct plan_of_thread kAll[] = {{"main", 1},   {"untouched", 1}, {"worker", 1},
                                             {"worker", 0}, {"unset", 0},     {"untouched", 0},
                                             {NULL, 0}};
static const struct plan_of_thread kOne[] = {{"main", 1}, {NULL, 0}};

static struct truth truths[kMaxThreads];
static publisher_variable_fn* variables[kMaxPublishers];
static const char* modules[kMaxPublishers];
static int publishers;
static int burn;
static publisher_variable_fn* reloaded; /* of the publisher that will be unloaded */
static int reload;
static int early_threads[kMaxThreads];
static pthread_barrier_t reload_begins; /* threads from before the dlopen, and main */
static pthread_barrier_t reload_ends;
static pthread_barrier_t loaded;   /* every publisher is there */
static pthread_barrier_t labelled; /* every thread's truth is complete */

/* Two functions of different names, so that a stack shows which kind of work a sample hit. Their
 * bodies differ, since gcc folds equal ones into one. */
__attribute__((noinline)) static void labelled_work(void) {
  for (volatile unsigned i = 0; i < 1u << 16; i++) {
  }
}

__attribute__((noinline)) static void unlabelled_work(void) {
  for (volatile unsigned i = 1u << 16; i > 0; i--) {
  }
}

/* Does the calling thread's part in publisher number `i`. */
static void publish(struct truth* truth, int index, int i) {
  custom_labels_labelset_t** variable = variables[i]();
  for (int other = 0; other < i; other++) {
    /* The loader bound both publishers to one variable, so both show what the first one set. */
    if (truth->variables[other].address != variable) continue;
    truth->variables[i] = truth->variables[other];
    return;
  }
  truth->variables[i].address = variable;
  if (strcmp(truth->kind, "unset") == 0) {
    *variable = NULL;
    return;
  }
  truth_make_labels(&truth->variables[i], index, i);
  *variable = &truth->variables[i].set;
}

/* No reader may see these labels after the library that held the variable is unloaded. */
static custom_labels_label_t stale_labels[] = {
    {{5, (const unsigned char*)"stale"}, {5, (const unsigned char*)"label"}}};
static custom_labels_labelset_t stale_set = {stale_labels, 1, 1};

static void use_reloaded(void) {
  pthread_barrier_wait(&reload_begins);
  *reloaded() = &stale_set;
  pthread_barrier_wait(&reload_ends);
}

static void label_thread(int index) {
  struct truth* truth = &truths[index];
  truth_take_identity(truth);
  pthread_barrier_wait(&loaded);
  if (strcmp(truth->kind, "untouched") != 0) {
    for (int i = 0; i < publishers; i++) publish(truth, index, i);
  }
  pthread_barrier_wait(&labelled);
}

static void* run_worker(void* argument) {
  const int index = (int)((struct truth*)argument - truths);
  if (reload && early_threads[index]) use_reloaded();
  label_thread(index);
  const int works_labelled = strcmp(truths[index].kind, "worker") == 0;
  for (;;) {
    if (!burn) {
      pause();
    } else if (works_labelled) {
      labelled_work();
    } else {
      unlabelled_work();
    }
  }
  return NULL;
}

static void start_workers(const struct plan_of_thread* plan, int early) {
  for (int i = 1; plan[i].kind != NULL; i++) {
    pthread_t thread;
    if (plan[i].early != early) continue;
    truths[i].kind = plan[i].kind;
    early_threads[i] = early;
    if (pthread_create(&thread, NULL, run_worker, &truths[i]) != 0) {
      truth_cannot("pthread_create", "no more threads");
    }
  }
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

#ifdef CAN_DLOPEN
static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) truth_cannot("dlopen", dlerror());
  return library;
}

static publisher_variable_fn* find_variable(void* library) {
  publisher_variable_fn* found = (publisher_variable_fn*)dlsym(library, "publisher_variable");
  if (found == NULL) truth_cannot("dlsym", dlerror());
  return found;
}

static void load_publisher(const char* path) {
  if (publishers == kMaxPublishers) truth_cannot(path, "too many publishers");
  modules[publishers] = base_name(path);
  variables[publishers++] = find_variable(load(path));
}

static void load_and_unload(const char* path) {
  void* library = load(path);
  reloaded = find_variable(library);
  use_reloaded();
  dlclose(library);
}

/* The copies are in memory; each is a file of its own to the loader. */
static void load_crowd(const char* path) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  const size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (size == 0) truth_cannot(path, "cannot be read");
  fclose(file);
  for (int i = 0; i < kCrowd; i++) {
    char name[64];
    const int fd = memfd_create("filler", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) truth_cannot("memfd_create", "failed");
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    load(name);
    close(fd);
  }
}
#else
static void load_publisher(const char* path) { truth_cannot(path, "built without dlopen"); }
static void load_and_unload(const char* path) { load_publisher(path); }
static void load_crowd(const char* path) { load_publisher(path); }
#endif

static void stay(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char ignored[64];
  for (;;) {
    for (int i = 0; burn && i < 16; i++) labelled_work();
    if (poll(&input, 1, burn ? 0 : -1) <= 0) continue;
    if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) _exit(0);
  }
}

static const struct plan_of_thread* plan_named(const char* name) {
  if (strcmp(name, "one") == 0) return kOne;
  if (strcmp(name, "many") == 0) return kMany;
  if (strcmp(name, "untouched") == 0) return kUntouched;
  if (strcmp(name, "all") == 0) return kAll;
  truth_cannot(name, "no such set of threads");
}

struct options {
  const struct plan_of_thread* plan;
  const char* linked_module;
  const char* reload;
  const char* crowd;
  const char* paths[kMaxPublishers];
  int path_count;
};

static struct options parse_options(int argc, char** argv) {
  struct options options = {.plan = kOne, .linked_module = base_name(argv[0])};
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* value = argv[i + 1];
    if (strcmp(argv[i], "--threads") == 0) {
      options.plan = plan_named(value);
    } else if (strcmp(argv[i], "--stay") == 0) {
      burn = strcmp(value, "burn") == 0;
    } else if (strcmp(argv[i], "--module") == 0) {
      options.linked_module = value;
    } else if (strcmp(argv[i], "--reload") == 0) {
      options.reload = value;
    } else if (strcmp(argv[i], "--crowd") == 0) {
      options.crowd = value;
    } else if (strcmp(argv[i], "--dlopen") == 0 && options.path_count < kMaxPublishers) {
      options.paths[options.path_count++] = value;
    } else {
      truth_cannot(argv[i], "no such option");
    }
  }
  return options;
}

int main(int argc, char** argv) {
  const struct options options = parse_options(argc, argv);
  unsigned threads = 0;
  unsigned early = 0;
  for (; options.plan[threads].kind != NULL; threads++)
    early += (unsigned)options.plan[threads].early;
  pthread_barrier_init(&loaded, NULL, threads);
  pthread_barrier_init(&labelled, NULL, threads);
  pthread_barrier_init(&reload_begins, NULL, early);
  pthread_barrier_init(&reload_ends, NULL, early);
  reload = options.reload != NULL;

  start_workers(options.plan, 1);
  if (reload) load_and_unload(options.reload);
#ifdef LINKED_PUBLISHER
  modules[publishers] = options.linked_module;
  variables[publishers++] = publisher_variable;
#endif
  if (options.crowd != NULL) load_crowd(options.crowd);
  for (int i = 0; i < options.path_count; i++) load_publisher(options.paths[i]);
  start_workers(options.plan, 0);
  truths[0].kind = "main";
  label_thread(0);
  for (unsigned i = 0; i < threads; i++) truth_print(&truths[i], modules, publishers);
  puts("ready");
  fflush(stdout);
  stay();
}
