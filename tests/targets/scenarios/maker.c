/* Makes two functions at run time and calls one of them again and again until it is killed. Which one is random: in
 * turn, they could run in step with the ticks of who samples, and one of them would never be seen. It tells them first,
 * in the lines of a perf map: on the standard output, or, with "write", in /tmp/perf-PID.map, with PID as it sees
 * itself. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Counts its argument down to 0. */
#if defined(__x86_64__)
static const unsigned char kCode[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#else
static const unsigned kCode[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif
enum { kApart = 64 };
static const char* const kNames[] = {"JS:*first /srv/a b.js:1:2", "JS:~second /srv/b.js:3:4"};

int main(int argc, char** argv) {
  unsigned char* code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  FILE* map = stdout;
  if (argc > 1 && strcmp(argv[1], "write") == 0) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    if ((map = fopen(path, "w")) == NULL) return 1;
  }
  for (int i = 0; i < 2; i++) {
    memcpy(code + i * kApart, kCode, sizeof kCode);
    fprintf(map, "%lx %zx %s\n", (unsigned long)(code + i * kApart), sizeof kCode, kNames[i]);
  }
  if (fflush(map) != 0 || mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 1;
  __builtin___clear_cache((char*)code, (char*)code + 4096);
  fprintf(stderr, "ready\n");
  for (unsigned random = 1;; random = random * 1664525 + 1013904223) {
    void (*function)(unsigned long);
    unsigned char* start = code + (random >> 31) * kApart;
    memcpy(&function, &start, sizeof function);
    function(2000000);
  }
}
