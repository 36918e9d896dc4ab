/* Makes two functions at run time and calls one of them again and again until it is killed. The
 * choice is random: in turns, they could run in step with a sampler's ticks, and one of them would
 * never be seen. It first prints both in the lines of a perf map, on the standard output or, with
 * "write", into /tmp/perf-PID.map, where PID is its number in its own namespace. With "shared",
 * "huge", "sysv", "memfd", "shm" or "unlinked" the code lies in such memory; exit status 3 means
 * that the kernel has none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

/* Counts its argument down to 0. */
#if defined(__x86_64__)
static const unsigned char kCode[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#else
static const unsigned kCode[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif
enum { kApart = 64 };
static const char* const kNames[] = {"JS:*first /srv/a b.js:1:2", "JS:~second /srv/b.js:3:4"};

enum { kHugePage = 2 << 20, kWritable = PROT_READ | PROT_WRITE };

static void* map_file(int file) {
  if (file < 0 || ftruncate(file, 4096) != 0) return MAP_FAILED;
  return mmap(NULL, 4096, kWritable, MAP_SHARED, file, 0);
}

static void* memory_of_kind(const char* kind) {
  char path[] = "/dev/shm/labelscope-maker-XXXXXX";
  if (strcmp(kind, "shared") == 0) {
    return mmap(NULL, 4096, kWritable, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  if (strcmp(kind, "huge") == 0) {
    return mmap(NULL, kHugePage, kWritable, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  }
  if (strcmp(kind, "sysv") == 0) {
    const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
    void* at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
    if (id >= 0) shmctl(id, IPC_RMID, NULL); /* when nobody uses it any more */
    return at;
  }
  if (strcmp(kind, "memfd") == 0) return map_file(memfd_create("code", MFD_CLOEXEC));
  if (strcmp(kind, "shm") == 0 || strcmp(kind, "unlinked") == 0) {
    char here[] = "maker-XXXXXX"; /* of any file system */
    char* name = strcmp(kind, "shm") == 0 ? path : here;
    void* at = map_file(mkstemp(name));
    if (name == here) unlink(name);
    return at;
  }
  return mmap(NULL, 4096, kWritable, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char** argv) {
  unsigned char* code = memory_of_kind(argc > 1 ? argv[1] : "");
  if (code == MAP_FAILED) return 3;
  const size_t size = argc > 1 && strcmp(argv[1], "huge") == 0 ? kHugePage : 4096;
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
  if (fflush(map) != 0 || mprotect(code, size, PROT_READ | PROT_EXEC) != 0) return 1;
  __builtin___clear_cache((char*)code, (char*)code + 4096);
  fprintf(stderr, "ready\n");
  for (unsigned random = 1;; random = random * 1664525 + 1013904223) {
    void (*function)(unsigned long);
    unsigned char* start = code + (random >> 31) * kApart;
    memcpy(&function, &start, sizeof function);
    function(2000000);
  }
}
