/* Four threads wait in system calls that a stop interrupts for good (signal(7)), each with the
 * label call=NAME. It prints "ready", and "interrupted NAME" for each call that fails with EINTR,
 * until stdin closes. */
#define _GNU_SOURCE
#include <customlabels/writer.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_barrier_t all_wait;
static const struct timespec kLong = {3600, 0};

static void begin(const char* name) {
  custom_labels_thread_set("call", 4, name, strlen(name));
  pthread_barrier_wait(&all_wait);
}

static void note(const char* name, long result) {
  if (result >= 0 || errno != EINTR) return;
  printf("interrupted %s\n", name);
  fflush(stdout);
}

static void* in_epoll(void* ignored) {
  struct epoll_event event;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  begin("epoll_wait");
  for (;;) note("epoll_wait", epoll_wait(poll, &event, 1, -1));
  return ignored;
}

static void* in_semop(void* set) {
  begin("semop");
  for (;;) {
    struct sembuf take = {0, -1, 0};
    note("semop", semop(*(const int*)set, &take, 1));
  }
  return set;
}

static void* in_sigtimedwait(void* ignored) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  begin("sigtimedwait");
  for (;;) note("sigtimedwait", sigtimedwait(&signals, NULL, &kLong));
  return ignored;
}

static void* in_recv(void* ignored) {
  int pair[2];
  char byte;
  const struct timeval timeout = {3600, 0};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) exit(1);
  setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  begin("recv");
  for (;;) note("recv", recv(pair[0], &byte, 1, 0));
  return ignored;
}

int main(void) {
  void* (*const calls[])(void*) = {in_epoll, in_semop, in_sigtimedwait, in_recv};
  enum { kCalls = sizeof calls / sizeof *calls };
  int set = semget(IPC_PRIVATE, 1, 0600);
  pthread_barrier_init(&all_wait, NULL, kCalls + 1);
  for (int i = 0; i < kCalls; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, calls[i], &set) != 0) return 1;
  }
  pthread_barrier_wait(&all_wait);
  puts("ready");
  fflush(stdout);
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  semctl(set, 0, IPC_RMID);
  return 0;
}
