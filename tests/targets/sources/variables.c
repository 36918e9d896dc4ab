// A program that knows no label ABI, with thread-local variables of its own and of a library that
// it loads with dlopen(). Its threads compute. It prints "tid N" for each, in the order of their
// numbers, 0 and 1, then "ready". It ends when its stdin closes.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX exe_
#include "variables.h"
#include "variables_scoped.h"

// Another file has this name, too, for a variable that is thread-local.
int not_thread_local = 1;

// variables_twin.c has these names, too.
static __thread volatile int exe_twin;
static volatile int exe_shadowed;
void set_twins(int number);

static void (*set_library_variables)(int number);
static pthread_barrier_t in_turn;

static void* work(void* argument) {
  const int number = *(const int*)argument;
  exe_set(number);
  set_twins(number);
  set_scoped(number);
  exe_twin = 1000 + number;
  exe_shadowed = 0;
  set_library_variables(number);
  printf("{\"tid\":%ld,\"number\":%d}\n", syscall(SYS_gettid), number);
  pthread_barrier_wait(&in_turn);
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
  return NULL;
}

int main(int argc, char** argv) {
  static const int numbers[] = {0, 1};
  void* library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  if (library == NULL) return 2;
  *(void**)&set_library_variables = dlsym(library, "set_library_variables");
  if (set_library_variables == NULL) return 2;
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)&numbers[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return not_thread_local - 1;
}
