/* Copies its own code into memory without a file, at the same addresses, as programs do that want
 * large pages:
 *
 *   copied_text plain     does not
 *   copied_text part      all but the first and the last page
 *   copied_text whole     all of it
 *   copied_text changed   all of it, with another byte in a function that is not called
 *
 * Then it computes in leaf() < middle() < outer() < main() with the label tenant=acme, until it is
 * killed. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "customlabels/label_abi.h"

__attribute__((used)) const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* custom_labels_current_set;
void copy_text(char* from, char* to, const char* changed);

static volatile unsigned long sink;

/* More than a page of code lies on each side of what computes. */
#define FILLER(name) \
  __attribute__((noinline, used)) void name(void) { __asm__ volatile(".fill 70000, 1, 0x00"); }
FILLER(before)

__attribute__((noinline, noclone)) static unsigned long leaf(unsigned long n) {
  unsigned long sum = n;
  for (unsigned long i = 0; i < n; i++) sum = sum * 6364136223846793005ul + i;
  return sum;
}
__attribute__((noinline, noclone)) static unsigned long middle(unsigned long n) {
  volatile char room[64] = {0};
  return leaf(n) + (unsigned char)room[n % 64] + 1;
}
__attribute__((noinline, noclone)) static unsigned long outer(unsigned long n) {
  volatile unsigned long room[20] = {0};
  return middle(n) + room[n % 20] + 2;
}
FILLER(after)

struct text {
  char *start, *end;
};

static int find_text(struct dl_phdr_info* info, size_t size, void* found) {
  struct text* text = found;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
    text->start = (char*)(start & ~(page - 1));
    text->end = (char*)((start + segment->p_memsz + page - 1) & ~(page - 1));
  }
  return 1; /* the first file is the program */
}

int main(int argc, char** argv) {
  static custom_labels_label_t label = {{6, (const unsigned char*)"tenant"},
                                        {4, (const unsigned char*)"acme"}};
  static const custom_labels_labelset_t set = {&label, 1, 1};
  struct text text = {NULL, NULL};
  if (argc != 2) return 2;
  custom_labels_current_set = &set;
  dl_iterate_phdr(find_text, &text);
  const ptrdiff_t page = sysconf(_SC_PAGESIZE);
  if (strcmp(argv[1], "part") == 0) {
    copy_text(text.start + page, text.end - page, NULL);
  } else if (strcmp(argv[1], "plain") != 0) {
    const char* changed = strcmp(argv[1], "changed") == 0 ? (const char*)before + 1000 : NULL;
    copy_text(text.start, text.end, changed);
  }
  puts("ready");
  fflush(stdout);
  for (;;) sink += outer(100000);
}
