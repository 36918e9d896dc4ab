# Programs whose mappings, loader's list or threads would make labelscope itself work for minutes,
# before it has asked any worker. What each costs has a bound, or grows with what there is of it.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command cc
cat >hostile_mappings.c <<'EOC'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096L
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static void* map(void* at, long size, int rights, int flags, int file) {
  void* found = mmap(at, size, rights, MAP_PRIVATE | flags, file, 0);
  if (found == MAP_FAILED) exit(3);
  return found;
}

static void write_headers(char* at, int count, long size, unsigned long vaddr_of_others) {
  Elf64_Ehdr* head = (Elf64_Ehdr*)at;
  Elf64_Phdr* segments = (Elf64_Phdr*)(head + 1);
  memcpy(head->e_ident, "\177ELF\2\1\1", 7);
  head->e_type = ET_DYN;
  head->e_machine = MACHINE;
  head->e_version = 1;
  head->e_phoff = sizeof *head;
  head->e_ehsize = sizeof *head;
  head->e_phentsize = sizeof *segments;
  head->e_phnum = count;
  for (int i = 0; i < count; i++) {
    segments[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = PAGE};
    segments[i].p_vaddr = i == 0 ? 0 : vaddr_of_others;
    segments[i].p_filesz = segments[i].p_memsz = size;
  }
}

/* A file of this content. */
static int file_of(const char* content, long size) {
  int file = open("mapped.elf", O_RDWR | O_CREAT | O_TRUNC, 0755);
  if (file < 0 || write(file, content, size) != size) exit(3);
  return file;
}

/* Beside each mapping of a file with `count` equal segments is executable memory without a file. */
static void copied_text(int pairs) {
  const int count = 1100;
  const long size = 0x20000;
  char* content = calloc(1, size);
  write_headers(content, count, size, 0);
  int file = file_of(content, size);
  char* base = map(NULL, 3 * PAGE * pairs, PROT_NONE, MAP_ANONYMOUS, -1);
  for (int i = 0; i < pairs; i++) {
    char* at = base + 3 * PAGE * i;
    map(at, PAGE, PROT_READ | PROT_EXEC, MAP_FIXED, file);
    char* code = map(at + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_FIXED | MAP_ANONYMOUS, -1);
    memset(code, 0xcc, PAGE);
  }
}

/* More publishers than are read, and a file that needs others, many times in the loader's list. */
static void loader_list(int links, const char* publisher) {
  struct link_map* last = NULL;
  for (int i = 0; i < 8; i++) {
    char copy[64], command[4096];
    snprintf(copy, sizeof copy, "./%d", i);
    snprintf(command, sizeof command, "mkdir -p %s && cp '%s' %s/", copy, publisher, copy);
    if (system(command) != 0) exit(3);
    strcat(copy, "/libcustomlabels.so");
    last = dlopen(copy, RTLD_NOW);
    if (last == NULL) exit(3);
  }
  while (last->l_next != NULL) last = last->l_next;
  const long size = 0x10000, dynamic = 0x1000, names = 0x8000, count = 1022;
  char* content = calloc(1, size);
  write_headers(content, 2, size, 0);
  Elf64_Phdr* segment = (Elf64_Phdr*)(content + sizeof(Elf64_Ehdr)) + 1;
  *segment = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_flags = PF_R, .p_offset = dynamic,
                          .p_vaddr = dynamic, .p_filesz = 16 * (count + 2), .p_align = 8};
  Elf64_Dyn* entries = (Elf64_Dyn*)(content + dynamic);
  for (int i = 0; i < count; i++) entries[i] = (Elf64_Dyn){DT_NEEDED, {1}};
  entries[count] = (Elf64_Dyn){DT_STRTAB, {names}};
  memset(content + names, 'a', 4000);
  int file = file_of(content, size);
  for (int i = 0; i < links; i++) {
    char* at = map(NULL, size, PROT_READ | PROT_EXEC, 0, file);
    struct link_map* made = calloc(1, sizeof *made);
    made->l_name = "/nowhere";
    made->l_ld = (void*)(at + dynamic);
    made->l_prev = last;
    last->l_next = made;
    last = made;
  }
}

/* A module that is in memory only, with `count` segments of 256 MiB, all over the same pages. Its
   code runs. */
static void copied_module(int count) {
  const long most = 256L << 20, size = 96 << 10;
  char* content = malloc(size);
  memset(content, 'x', size);
  int file = file_of(content, size);
  char* zeros = map(NULL, most, PROT_READ, MAP_ANONYMOUS | MAP_NORESERVE, -1);
  char* at = map(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, 0, file);
  memset(at, 0, sizeof(Elf64_Ehdr));
  write_headers(at, count, most, (unsigned long)(zeros - at));
#if defined(__x86_64__)
  memcpy(at + (80 << 10), "\xeb\xfe", 2); /* jmp to itself */
#else
  memcpy(at + (80 << 10), "\0\0\0\x14", 4); /* b to itself */
  __builtin___clear_cache(at, at + size);
#endif
  puts("ready");
  fflush(stdout);
  ((void (*)(void))(at + (80 << 10)))();
}

static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}
static void threads(int count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0) exit(3);
  }
}

int main(int count, char** words) {
  const int number = atoi(words[2]);
  alarm(300);
  if (strcmp(words[1], "copied_text") == 0) copied_text(number);
  if (strcmp(words[1], "loader_list") == 0) loader_list(number, words[3]);
  if (strcmp(words[1], "copied_module") == 0) copied_module(number);
  if (strcmp(words[1], "threads") == 0) threads(number);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
  return count;
}
EOC
cc -O1 -w -o hostile_mappings hostile_mappings.c -pthread -ldl || skip_test "no compiler"

# measure <argument of hostile_mappings...> -- <argument of labelscope...>: sets $cpu to the
# milliseconds of a processor that labelscope takes, or ends the test after a minute.
measure() {
  local words=()
  while [[ $1 != -- ]]; do words+=("$1"); shift; done
  shift
  start_target ./hostile_mappings "${words[@]}"
  local TIMEFORMAT='%U %S'
  { time timeout --signal=KILL 60 "$LABELSCOPE" "$@" -p "$target" >"$work/stdout" 2>"$work/stderr"; } 2>"$work/time"
  status=$?
  cpu=$(awk 'END { print int(1000 * ($1 + $2)) }' "$work/time")
  stop_target
  echo "${words[*]:0:2}: $cpu ms of CPU time"
  ((status != 137)) || fail "${words[*]}: not over after a minute"
}
# Each would take 20 seconds or more.
measure copied_text 16 -- dump
expect_status "$exit_ok" "memory beside files with many segments"
((cpu < 5000)) || fail "16 mappings beside files take $cpu ms"
measure loader_list 24 "$WRITER_LIBRARY" -- dump
expect_status "$exit_ok" "a loader's list of many names"
((cpu < 5000)) || fail "a loader's list takes $cpu ms"
measure copied_module 400 -- dump --stacks --max-stop 20s
expect_status "$exit_ok" "a module in memory"
((cpu < 5000)) || fail "a module in memory takes $cpu ms"
expect_shown 'it cannot be copied from memory: its segments together are larger than 256 MiB'

# Each thread takes as long as the others. What a dump takes besides is in both.
measure threads 1000 -- dump --stacks
expect_status "$exit_ok" "1,000 threads"
few=$cpu
measure threads 6000 -- dump --stacks
expect_status "$exit_ok" "6,000 threads"
((cpu < 12 * few)) || fail "6,000 threads take $cpu ms, and 1,000 take $few ms"
exit 0
