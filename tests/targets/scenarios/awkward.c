/* A process that is awkward to read. It prints "ready" and stays until it is killed.
 *
 *   awkward unsupplied | shared | keep PID | headless
 *
 * - unsupplied: the label pointer leads to memory that is never supplied (userfaultfd): a reader
 *   waits for ever, or until the last process that has the userfaultfd ends;
 * - shared: the same, and a child has the userfaultfd, too;
 * - keep: sets no labels, and has the userfaultfd of the process PID, too;
 * - headless: its first thread has ended, another one runs on. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "customlabels/label_abi.h"

__attribute__((used)) const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* volatile custom_labels_current_set;

enum { kPage = 4096, kSupplier = 99 };

static int cannot(const char* what) {
  printf("{\"cannot\":\"%s: %s\"}\n", what, strerror(errno));
  return 3;
}

static void* unsupplied_page(void) {
  const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || dup2(fd, kSupplier) < 0) return NULL;
  void* page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  struct uffdio_register range = {.range = {(uintptr_t)page, kPage},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
  return ioctl(fd, UFFDIO_REGISTER, &range) == 0 ? page : NULL;
}

static void* stay(void* unused) {
  puts("ready");
  fflush(stdout);
  for (;;) pause();
  return unused;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int shared = strcmp(what, "shared") == 0;
  if (shared || strcmp(what, "unsupplied") == 0) {
    const custom_labels_labelset_t* set = unsupplied_page();
    if (set == NULL) return cannot("userfaultfd");
    if (shared && fork() == 0) {
      for (;;) pause();
    }
    custom_labels_current_set = set;
    stay(NULL);
  }
  if (strcmp(what, "keep") == 0 && argc > 2) {
    const int process = (int)syscall(SYS_pidfd_open, atoi(argv[2]), 0);
    if (syscall(SYS_pidfd_getfd, process, kSupplier, 0) < 0) return cannot("pidfd_getfd");
    stay(NULL);
  }
  pthread_t thread;
  if (strcmp(what, "headless") != 0) return 2;
  if (pthread_create(&thread, NULL, stay, NULL) != 0) return cannot("pthread_create");
  syscall(SYS_exit, 0);
}
