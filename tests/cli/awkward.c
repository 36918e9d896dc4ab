/* A process that is awkward to look into. Prints "ready" and stays until it is killed.
 *
 *   awkward unsupplied | headless
 *
 * - unsupplied: the label pointer leads to memory that nobody supplies (userfaultfd): whoever reads
 *   it waits for ever;
 * - headless: its first thread has ended, another one runs on. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "customlabels/label_abi.h"

__attribute__((used)) const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* volatile custom_labels_current_set;

enum { kPage = 4096 };

static int cannot(const char* what) {
  printf("{\"cannot\":\"%s: %s\"}\n", what, strerror(errno));
  return 3;
}

static void* unsupplied_page(void) {
  const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0) return NULL;
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
  if (strcmp(what, "unsupplied") == 0) {
    custom_labels_current_set = unsupplied_page();
    if (custom_labels_current_set == NULL) return cannot("userfaultfd");
    stay(NULL);
  }
  pthread_t thread;
  if (strcmp(what, "headless") != 0) return 2;
  if (pthread_create(&thread, NULL, stay, NULL) != 0) return cannot("pthread_create");
  syscall(SYS_exit, 0);
}
