/* A writer that is right, in a program that does what programs do. The first argument says what. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "publisher.h"

struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t label;
};
static __thread struct block blocks[2];
static const char* const texts[] = {"0", "1", "2", "3"};

static NOINLINE void set_label(int turn) {
  struct block* to = &blocks[turn % 2];
  to->label.key = string_of("turn");
  to->label.value = string_of(texts[turn % 4]);
  to->set.storage = &to->label;
  to->set.count = 1;
  PUBLISH(&to->set);
}

static NOINLINE void set_some(void) {
  for (int i = 0; i < 4; i++) set_label(i);
}

static int ends_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static int forks(void) {
  set_some();
  const pid_t child = fork();
  if (child == 0) {
    set_some();
    _exit(7);
  }
  set_some();
  return ends_well(child) ? 0 : 1;
}

/* Until it executes the other program, the child shares this process's memory, including
 * breakpoints, and sets labels in it. */
static int spawns(void) {
  char path[] = "/bin/true";
  char* arguments[] = {path, NULL};
  set_some();
  const pid_t child = vfork();
  if (child == 0) {
    set_some();
    execv(path, arguments);
    _exit(1);
  }
  int status = 1;
  pid_t spawned = 0;
  if (posix_spawn(&spawned, path, NULL, NULL, arguments, arguments + 1) != 0) return 1;
  if (waitpid(spawned, &status, 0) != spawned || status != 0) return 1;
  set_some();
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int leaves_a_child(void) {
  set_some();
  if (fork() == 0) {
    for (;;) pause();
  }
  return 0;
}

static int executes(char** argv) {
  set_some();
  execl("/proc/self/exe", argv[0], "labels", (char*)NULL);
  return 1;
}

static int blocks_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGTERM, SIG_IGN);
  set_some();
  for (;;) pause();
  return 0;
}

static volatile sig_atomic_t handled;
static void set_in_handler(int signal) {
  (void)signal;
  custom_labels_labelset_t* before = custom_labels_current_set;
  set_some();
  PUBLISH(before);
  handled = handled + 1;
}

/* One update. In its middle a handler sets labels, and then restores the former ones. */
EXPORT NOINLINE void set_label_slowly(int turn) {
  raise(SIGUSR1);
  set_label(turn);
  __asm__ volatile("" ::: "memory");
}

/* This is for a pair of functions whose second one is never called. */
EXPORT NOINLINE void end_slowly(void) { __asm__ volatile("" ::: "memory"); }

static int takes_signals(void) {
  struct sigaction action = {0};
  action.sa_handler = set_in_handler;
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 4; i++) {
    set_label_slowly(i);
    raise(SIGUSR1);
  }
  return handled == 8 ? 0 : 1;
}

static sigjmp_buf out;
static void jump_out(int signal) {
  (void)signal;
  siglongjmp(out, 1);
}

static int jumps(void) {
  signal(SIGUSR1, jump_out);
  for (volatile int i = 0; i < 4; i++) {
    set_label(i);
    if (sigsetjmp(out, 1) == 0) raise(SIGUSR1);
  }
  return 0;
}

static void count_only(int signal, siginfo_t* trap, void* context) {
  (void)signal;
  handled = handled + 1;
#if defined(__aarch64__)
  /* Without this the breakpoint would be executed again. */
  if (trap->si_code == TRAP_BRKPT) ((ucontext_t*)context)->uc_mcontext.pc += 4;
#else
  (void)trap;
  (void)context;
#endif
}

/* A trap of the program's own must reach the program. */
static int traps(void) {
  struct sigaction action = {0};
  action.sa_sigaction = count_only;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, NULL);
  set_some();
#if defined(__x86_64__)
  __asm__ volatile("int3");
#else
  __asm__ volatile("brk #1000"); /* as __builtin_trap() */
#endif
  raise(SIGTRAP);
  /* After this loop the thread is no longer stepped through. */
  for (volatile long i = 0; i < 100 * 1000; i++) continue;
  raise(SIGTRAP);
  raise(SIGTRAP);
  return handled == 4 ? 0 : 1;
}

static void* set_many(void* unused) {
  for (int i = 0; i < 20; i++) set_label(i);
  return unused;
}

static int has_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, set_many, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}

/* A thread that holds a lock sleeps for it while others are stepped. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* set_locked(void* unused) {
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&lock);
    set_label(i);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static int has_locks(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, set_locked, NULL);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  return 0;
}

/* This would take some seconds if it were stepped through. */
static NOINLINE void work(void) {
  for (volatile long i = 0; i < 50 * 1000 * 1000; i++) continue;
}

static int works(void) {
  custom_labels_labelset_t* set = &blocks[0].set;
  set_label(0);
  work();
  PUBLISH(NULL);
  work();
  PUBLISH(set);
  work();
  return 0;
}

/* The child is another program, which has children of its own. */
static int runs_another(char* path) {
  char* arguments[] = {path, NULL};
  int status = 1;
  pid_t spawned = 0;
  set_some();
  if (posix_spawn(&spawned, path, NULL, NULL, arguments, arguments + 1) != 0) return 1;
  return waitpid(spawned, &status, 0) == spawned && status == 0 ? 0 : 1;
}

/* Each value is meant to be seen for a millisecond. */
static __thread uint64_t letters;
static NOINLINE void nap_between(uint64_t from) {
  for (uint64_t i = 0; i < 3; i++) {
    STORE(letters, (from + i) * 0x0101010101010101);
    usleep(1000);
  }
}

static NOINLINE void publish_letters(void) {
  struct block* block = &blocks[0];
  letters = 0x4141414141414141;
  block->label.key = string_of("letters");
  block->label.value.buf = (const unsigned char*)&letters;
  block->label.value.len = sizeof letters;
  block->set.storage = &block->label;
  block->set.count = 1;
  PUBLISH(&block->set);
}

static int naps(void) {
  publish_letters();
  for (uint64_t turn = 0; turn < 4; turn++) nap_between('B' + turn * 3);
  PUBLISH(NULL);
  return 0;
}

/* This is the same, but a signal ends the sleep. */
static NOINLINE void doze_between(uint64_t from) {
  for (uint64_t i = 0; i < 3; i++) {
    const struct itimerval soon = {{0, 0}, {0, 20000}};
    const struct timespec long_time = {1, 0};
    setitimer(ITIMER_REAL, &soon, NULL);
    STORE(letters, (from + i) * 0x0101010101010101);
    nanosleep(&long_time, NULL);
  }
}

static int dozes(void) {
  struct sigaction action = {0};
  action.sa_sigaction = count_only;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGALRM, &action, NULL);
  publish_letters();
  for (uint64_t turn = 0; turn < 2; turn++) doze_between('B' + turn * 3);
  PUBLISH(NULL);
  return 0;
}

/* Changes a label through a pointer. Nothing in its code shows that. */
EXPORT NOINLINE void scribble(uint64_t* where, uint64_t what) { STORE(*where, what); }

static NOINLINE void clear_labels(void) { PUBLISH(NULL); }

static void* scribble_often(void* times) {
  publish_letters();
  for (int i = *(int*)times; i > 0; i--) scribble(&letters, letters + 0x0101010101010101);
  clear_labels();
  return NULL;
}

/* Runs on a thread that is not stepped through from its beginning. */
static int scribbles(int times) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, scribble_often, &times) != 0) return 1;
  return pthread_join(thread, NULL);
}

/* Stepping would begin at this function by its name, and its first instruction is a breakpoint. */
#if defined(__x86_64__)
void custom_labels_own_trap(void);
__asm__(
    ".text\n.globl custom_labels_own_trap\n.type custom_labels_own_trap, @function\n"
    "custom_labels_own_trap: int3\nret\n.size custom_labels_own_trap, . - custom_labels_own_trap\n");
#else
static void custom_labels_own_trap(void) { raise(SIGTRAP); }
#endif

static int has_own_breakpoint(void) {
  struct sigaction action = {0};
  action.sa_sigaction = count_only;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, NULL);
  for (int i = 0; i < 3; i++) {
    custom_labels_own_trap();
    set_label(i);
  }
  return handled == 3 ? 0 : 1;
}

/* A wait whose next instruction is the first one of a function that changes a label. A look at the
 * waiting thread ends the wait, and finds the thread in front of that function's breakpoint.
 * Returns the result of the system call. */
long wait_and_scribble(int poll, struct epoll_event* events, int most, int milliseconds,
                       const sigset_t* mask, size_t mask_size, uint64_t* where, uint64_t what);
#if defined(__x86_64__)
__asm__(
    ".text\n.type wait_and_scribble, @function\n"
    "wait_and_scribble: mov %ecx, %r10d\nmov $281, %eax\nsyscall\n"
    ".size wait_and_scribble, . - wait_and_scribble\n"
    ".globl custom_labels_scribble\n.type custom_labels_scribble, @function\n"
    "custom_labels_scribble: mov 8(%rsp), %rdx\nmov 16(%rsp), %rcx\nmov %rcx, (%rdx)\nret\n"
    ".size custom_labels_scribble, . - custom_labels_scribble\n");
#else
__asm__(
    ".text\n.type wait_and_scribble, @function\n"
    "wait_and_scribble: mov x8, #22\nsvc #0\n"
    ".size wait_and_scribble, . - wait_and_scribble\n"
    ".globl custom_labels_scribble\n.type custom_labels_scribble, @function\n"
    "custom_labels_scribble: str x7, [x6]\nret\n"
    ".size custom_labels_scribble, . - custom_labels_scribble\n");
#endif

/* The loop is long, so the thread is no longer stepped through when it comes to the waits. */
static void* wait_before(void* result) {
  struct epoll_event event;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  publish_letters();
  for (volatile long i = 0; i < 100 * 1000; i++) continue;
  for (int i = 0; i < 3; i++) {
    const uint64_t next = letters + 0x0101010101010101;
    *(int*)result |= wait_and_scribble(poll, &event, 1, 10000, NULL, 8, &letters, next) != -EINTR;
  }
  clear_labels();
  return NULL;
}

/* Runs on a thread, where no function that is stepped through calls it. */
static int waits_before(void) {
  pthread_t thread;
  int result = 0;
  if (pthread_create(&thread, NULL, wait_before, &result) != 0) return 1;
  pthread_join(thread, NULL);
  return result;
}

/* A label changes after long work, in the function that works, which is no longer stepped through
 * by then. */
static void* work_and_change(void* unused) {
  publish_letters();
  for (volatile long i = 0; i < 100 * 1000; i++) continue;
  STORE(letters, 0x4242424242424242);
  work();
  clear_labels();
  return unused;
}

static int changes_late(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work_and_change, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}

/* This does nothing for many calls, and then it changes a label, one half after the other. */
EXPORT NOINLINE void change_if(uint32_t* halves, int wanted) {
  for (int i = 0; wanted && i < 2; i++) STORE(halves[i], halves[i] + 0x01010101);
}

/* Labels are looked at here, since this refers to the variable. */
static NOINLINE int has_labels(void) { return custom_labels_current_set != NULL; }

/* This is no longer stepped through when labels change, so change_if() must be. */
static void* change_rarely(void* unused) {
  publish_letters();
  for (volatile long i = 0; i < 100 * 1000; i++) continue;
  for (int i = 0; i < 100; i++) change_if((uint32_t*)&letters, 0);
  for (int i = 0; i < 4 && has_labels(); i++) change_if((uint32_t*)&letters, 1);
  clear_labels();
  return unused;
}

static int changes_rarely(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, change_rarely, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}

/* A thread without labels calls a function that changes none, while another thread has some. */
static NOINLINE void pass(volatile long* sum) { *sum += 1; }

static void* call_pass(void* unused) {
  volatile long sum = 0;
  for (int i = 0; i < 1001; i++) pass(&sum);
  return unused;
}

static int passes(void) {
  set_label(1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_pass, NULL) != 0) return 1;
  if (pthread_join(thread, NULL) != 0) return 1;
  clear_labels();
  return 0;
}

/* Labels change in functions that have worked before, one half after the other. Only work() works
 * for long: the two others together take more instructions than a function may, and neither does
 * alone. */
static NOINLINE void change_halves(uint32_t* halves) {
  for (volatile long i = 0; i < 2200; i++) continue;
  for (int i = 0; i < 2; i++) STORE(halves[i], halves[i] + 0x01010101);
}

static NOINLINE void prepare_and_change(uint32_t* halves) {
  work();
  for (volatile long i = 0; i < 200; i++) continue;
  for (int i = 0; i < 2; i++) STORE(halves[i], halves[i] + 0x01010101);
  for (volatile long i = 0; i < 2200; i++) continue;
  change_halves(halves);
}

static int prepares(void) {
  publish_letters();
  prepare_and_change((uint32_t*)&letters);
  clear_labels();
  return 0;
}

/* It looks like a function that changes labels, but computes. It runs on a thread, where no
 * function that is stepped through calls it. */
EXPORT void* ponder(void* labels) {
  unsigned sum = custom_labels_current_set != labels;
  for (unsigned i = 0; i < 100000; i++) sum = sum * 31 + i;
  return (void*)(uintptr_t)sum;
}

static int ponders(void) {
  pthread_t thread;
  void* sum = NULL;
  set_label(1);
  if (pthread_create(&thread, NULL, ponder, NULL) != 0 || pthread_join(thread, &sum) != 0) return 1;
  set_label(2);
  return sum == NULL;
}

/* Returns whether the thread was not stopped while it changed labels. (A thread that is stopped
 * waits for its tracer.) */
static int goes_on(void) {
  enum { kTimes = 1000 };
  struct rusage before;
  struct rusage after;
  set_some();
  getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < kTimes; i++) PUBLISH(i % 2 == 0 ? NULL : &blocks[0].set);
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw < kTimes / 2 ? 0 : 1;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "nothing";
  if (strcmp(how, "nothing") == 0) return 0;
  if (strcmp(how, "labels") == 0) return set_some(), 0;
  if (strcmp(how, "exit") == 0) return set_some(), 3;
  if (strcmp(how, "fork") == 0) return forks();
  if (strcmp(how, "spawn") == 0) return spawns();
  if (strcmp(how, "leave") == 0) return leaves_a_child();
  if (strcmp(how, "exec") == 0) return executes(argv);
  if (strcmp(how, "block") == 0) return blocks_signals();
  if (strcmp(how, "signals") == 0) return takes_signals();
  if (strcmp(how, "jump") == 0) return jumps();
  if (strcmp(how, "trap") == 0) return traps();
  if (strcmp(how, "threads") == 0) return has_threads();
  if (strcmp(how, "locks") == 0) return has_locks();
  if (strcmp(how, "work") == 0) return works();
  if (strcmp(how, "naps") == 0) return naps();
  if (strcmp(how, "dozes") == 0) return dozes();
  if (strcmp(how, "waits") == 0) return waits_before();
  if (strcmp(how, "ponder") == 0) return ponders();
  if (strcmp(how, "scribble") == 0) return scribbles(1);
  if (strcmp(how, "scribbles") == 0) return scribbles(3);
  if (strcmp(how, "goes-on") == 0) return goes_on();
  if (strcmp(how, "prepares") == 0) return set_label(1), prepares();
  if (strcmp(how, "late") == 0) return changes_late();
  if (strcmp(how, "rarely") == 0) return changes_rarely();
  if (strcmp(how, "passes") == 0) return passes();
  if (strcmp(how, "breakpoint") == 0) return has_own_breakpoint();
  if (strcmp(how, "another") == 0 && argc > 2) return runs_another(argv[2]);
  if (strcmp(how, "forever") == 0) {
    for (;;) set_some();
  }
  if (strcmp(how, "crash") == 0) {
    set_some();
    *(volatile int*)(uintptr_t)8 = 1;
  }
  return 2;
}
