/* A program that dies and leaves a core file. Every thread has labels of its own, set through the
 * writer library, like a service in the middle of several requests.
 *
 *   crasher FOLDER segv|fault|update
 *
 * Cores go to FOLDER, its working directory. At the first byte from stdin:
 * - segv: one worker writes to address 16;
 * - fault: one worker sets a label whose value leads into unmapped memory, so that the writer
 *   library itself crashes in the middle of an update: the thread has its old labels;
 * - update: nothing happens. But from the beginning one worker changes its labels without a pause,
 *   so that a kill most likely interrupts an update. Its truth is two lines: it has the labels of
 *   one or of the other (kind "alternative"), never some of each.
 * Another worker has labelled itself and removed the labels (kind "unset"). */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "customlabels/writer.h"
#include "truth.h"

enum { kThreads = 6, kVictim = 2, kUnset = 3, kLongValue = 200 };

static struct truth truths[kThreads + 1]; /* the last is the victim's alternative */
static char names[kThreads][2][32];
static char long_values[2][kLongValue];
static pthread_barrier_t labelled;
static sem_t time_has_come;
static const char* mode;

static custom_labels_string_t string(const char* text, size_t length) {
  const custom_labels_string_t out = {length, (const unsigned char*)text};
  return out;
}

static void add_truth(struct truth* truth, custom_labels_string_t key,
                      custom_labels_string_t value) {
  struct truth_variable* variable = &truth->variables[0];
  variable->address = &custom_labels_current_set;
  variable->set.storage = variable->storage;
  const size_t slot = variable->set.count++;
  variable->storage[slot].key = key;
  variable->storage[slot].value = value;
  variable->shown[slot] = 1;
}

static void publish(const struct truth* truth) {
  const struct truth_variable* variable = &truth->variables[0];
  if (custom_labels_thread_replace(variable->storage, variable->set.count) != CUSTOM_LABELS_SET) {
    truth_cannot("labels", "refused by the writer library");
  }
}

static void label_thread(int index) {
  struct truth* truth = &truths[index];
  truth_take_identity(truth);
  snprintf(names[index][0], sizeof names[index][0], "request-%d", index);
  snprintf(names[index][1], sizeof names[index][1], "/route/%d", index * 7);
  add_truth(truth, string("request", 7), string(names[index][0], strlen(names[index][0])));
  add_truth(truth, string("route", 5), string(names[index][1], strlen(names[index][1])));
  publish(truth);
  if (index == kUnset) {
    custom_labels_thread_clear();
    truth->variables[0].set.count = 0;
  }
}

/* The two sets share no byte of their values, so that a mixture of them is noticed. */
static void label_alternatives(void) {
  for (int i = 0; i < 2; i++) {
    memset(long_values[i], 'a' + i, kLongValue);
    struct truth* truth = &truths[i == 0 ? kVictim : kThreads];
    const char* kind = i == 0 ? truth->kind : "alternative";
    memset(truth, 0, sizeof *truth);
    truth->kind = kind;
    truth_take_identity(truth);
    const size_t length = i == 0 ? kLongValue : kLongValue / 3;
    add_truth(truth, string("request", 7), string(long_values[i], length));
    add_truth(truth, string("route", 5), string(long_values[i], length / 2));
    if (i == 1) add_truth(truth, string("extra", 5), string(long_values[i], 1));
  }
}

/* The value's last bytes would be in an unmapped page. */
static void label_with_bad_value(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) {
    truth_cannot("mmap", "no two pages");
  }
  memset(pages, 'x', page);
  custom_labels_thread_set("route", 5, pages + page - 40, 80);
}

__attribute__((noinline)) static void die(void) {
  if (strcmp(mode, "fault") == 0) label_with_bad_value();
  static int* volatile nowhere = (int*)16;
  *nowhere = 0;
}

static void* run_worker(void* argument) {
  const int index = (int)((struct truth*)argument - truths);
  const int victim = index == kVictim;
  if (victim && strcmp(mode, "update") == 0) {
    label_alternatives();
    publish(&truths[kVictim]); /* it may be killed as soon as the others go on */
    pthread_barrier_wait(&labelled);
    for (unsigned turn = 0;; turn++) publish(&truths[turn % 2 == 0 ? kVictim : kThreads]);
  }
  label_thread(index);
  pthread_barrier_wait(&labelled);
  if (victim) {
    while (sem_wait(&time_has_come) != 0) {
    }
    die();
  }
  for (;;) pause();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) truth_cannot("folder", "not there");
  mode = argv[2];
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  if (limit.rlim_max == 0) truth_cannot("core files", "their hard limit is 0 (ulimit -Hc)");
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  pthread_barrier_init(&labelled, NULL, kThreads);
  sem_init(&time_has_come, 0, 0);
  for (int i = 1; i < kThreads; i++) {
    truths[i].kind = i == kVictim ? "victim" : i == kUnset ? "unset" : "worker";
    pthread_t thread;
    pthread_attr_t attributes; /* small stacks: a core has all of them */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 17);
    if (pthread_create(&thread, &attributes, run_worker, &truths[i]) != 0) {
      truth_cannot("pthread_create", "failed");
    }
  }
  truths[0].kind = "main";
  label_thread(0);
  pthread_barrier_wait(&labelled);
  const char* const modules[] = {"crasher"};
  const int lines = kThreads + (truths[kThreads].kind != NULL);
  for (int i = 0; i < lines; i++) truth_print(&truths[i], modules, 1);
  puts("ready");
  fflush(stdout);
  char byte;
  if (read(STDIN_FILENO, &byte, 1) <= 0) return 0;
  sem_post(&time_has_come);
  for (;;) pause();
}
