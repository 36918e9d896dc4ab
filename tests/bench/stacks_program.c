/* The C program of stacks.py, for what differs between C libraries and linkers: it is built for
 * musl, and with FIBERS for glibc. Everything happens in leaf(), below third(), second() and
 * first(), in turns in main()'s thread, in another thread, and in two fibers. */
#include <pthread.h>
#include <stddef.h>
#ifdef FIBERS
#include <stdlib.h>
#include <ucontext.h>
#endif

#define FUNCTION __attribute__((noinline, noclone))

static volatile unsigned long sink;

FUNCTION static void leaf(unsigned turns) {
  for (unsigned i = 0; i < turns; i++) sink = sink * 31 + i;
}
FUNCTION static void third(unsigned turns) {
  volatile char room[100];
  room[turns % 100] = 1;
  leaf(turns + room[turns % 100]);
  sink = sink + 1;
}
FUNCTION static void second(unsigned turns) {
  for (int i = 0; i < 3; i++) third(turns + i);
  sink = sink + 1;
}
FUNCTION static void first(unsigned turns) {
  second(turns);
  sink = sink + 1;
}

#ifdef FIBERS
static ucontext_t outside, fibers[2];

static void run_fiber(int own) {
  for (;;) {
    first(20000);
    swapcontext(&fibers[own], &outside);
  }
}

static void make_fibers(void) {
  for (int i = 0; i < 2; i++) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_size = 65536;
    fibers[i].uc_stack.ss_sp = malloc(65536);
    makecontext(&fibers[i], (void (*)(void))run_fiber, 1, i);
  }
}
static void run_fibers(void) {
  for (int i = 0; i < 2; i++) swapcontext(&outside, &fibers[i]);
}
#else
static void make_fibers(void) {}
static void run_fibers(void) {}
#endif

static void* run_thread(void* unused) {
  for (;;) first(20000);
  return unused;
}

int main(void) {
  pthread_t thread;
  make_fibers();
  pthread_create(&thread, NULL, run_thread, NULL);
  for (;;) {
    first(20000);
    run_fibers();
  }
}
