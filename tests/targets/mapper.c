/* A process that maps more code than a profiler can keep track of.
 *
 *   mapper flood            a page of its own file, executable, at one new place after the other
 *   mapper many N FOLDER    a page of each of N files, executable, which it makes in this folder
 *
 * Then it computes. It prints "ready" when the mappings are there (flood: the first thousand), and
 * ends when stdin closes. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096 };

static int input_is_closed(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char ignored[64];
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0;
}

static void tell_ready(void) {
  puts("ready");
  fflush(stdout);
}

static int fail(const char* what) {
  perror(what);
  return 1;
}

static int flood(int file) {
  /* This is far from other mappings, and has room enough for a day. */
  char* place = (char*)0x100000000000;
  for (unsigned long n = 0; n % 1000 != 0 || !input_is_closed(); n++, place += 2 * kPage) {
    char* at = mmap(place, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0);
    if (at == MAP_FAILED || munmap(at, kPage) != 0) return fail("mmap");
    if (n == 1000) tell_ready();
  }
  return 0;
}

static int map_many(int file, int count, const char* folder) {
  char header[kPage]; /* a file that says it is ELF */
  if (read(file, header, sizeof header) != sizeof header) return fail("read");
  for (int i = 0; i < count; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s/%d.so", folder, i);
    const int made = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (made < 0 || write(made, header, sizeof header) != sizeof header) return fail(path);
    if (mmap(NULL, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, made, 0) == MAP_FAILED) {
      return fail("mmap");
    }
    close(made);
  }
  tell_ready();
  for (volatile unsigned long n = 0;; n++) {
    if (n % 1000000 == 0 && input_is_closed()) return 0;
  }
}

int main(int argc, char** argv) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail("/proc/self/exe");
  if (argc == 2 && strcmp(argv[1], "flood") == 0) return flood(file);
  if (argc == 4 && strcmp(argv[1], "many") == 0) return map_many(file, atoi(argv[2]), argv[3]);
  fputs("mapper flood | mapper many N FOLDER\n", stderr);
  return 2;
}
