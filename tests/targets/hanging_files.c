/* A file system that may stop to answer, and a program that has its file mapped.
 *
 *   hanging_files serve FOLDER FILE   shows FILE as FOLDER/file, by FUSE; it needs root
 *   hanging_files map FILE            maps FILE as code, and computes
 *   hanging_files label FILE          has a label whose value is in FILE: one thread computes,
 *                                   and one waits
 *
 * All print "ready", or "cannot" and why. After SIGSTOP the first one answers nothing, and whoever
 * asks for more than the kernel has kept waits for it. The kernel keeps no names and attributes
 * here: they are asked for each time. When it ends, nobody answers, and all calls fail. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "customlabels/label_abi.h"

__attribute__((visibility("default"))) const uint32_t custom_labels_abi_version =
    CUSTOM_LABELS_ABI_VERSION;
__attribute__((visibility("default"))) __thread custom_labels_labelset_t* custom_labels_current_set;

enum { kFolderNode = FUSE_ROOT_ID, kFileNode = 2, kMostRead = 1 << 17 };

static int cannot(const char* what) {
  printf("cannot: %s: %s\n", what, strerror(errno));
  fflush(stdout);
  return 3;
}

static void ready(void) {
  puts("ready");
  fflush(stdout);
}

struct server {
  int device;
  int file;
  struct stat status;
};

struct answer {
  struct fuse_out_header head;
  char body[kMostRead];
};

static void set_attributes(const struct server* server, unsigned long long node,
                           struct fuse_attr* at) {
  const int is_folder = node == kFolderNode;
  at->ino = node;
  at->mode = is_folder ? S_IFDIR | 0755 : S_IFREG | 0755;
  at->nlink = is_folder ? 2 : 1;
  at->size = is_folder ? 0 : (unsigned long long)server->status.st_size;
  at->blocks = at->size / 512;
  at->blksize = 4096;
}

/* Returns the length of the answer's body, or an error as a negative number. */
static long answer_to(const struct server* server, const struct fuse_in_header* asked,
                      const void* argument, char* body) {
  switch (asked->opcode) {
    case FUSE_INIT: {
      struct fuse_init_out* out = (struct fuse_init_out*)body;
      out->major = FUSE_KERNEL_VERSION;
      out->minor = FUSE_KERNEL_MINOR_VERSION;
      out->max_readahead = kMostRead;
      out->max_write = kMostRead;
      return sizeof *out;
    }
    case FUSE_LOOKUP: {
      struct fuse_entry_out* out = (struct fuse_entry_out*)body;
      if (strcmp(argument, "file") != 0) return -ENOENT;
      out->nodeid = kFileNode;
      set_attributes(server, kFileNode, &out->attr);
      return sizeof *out;
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out* out = (struct fuse_attr_out*)body;
      set_attributes(server, asked->nodeid, &out->attr);
      return sizeof *out;
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR:
      return sizeof(struct fuse_open_out);
    case FUSE_READ: {
      const struct fuse_read_in* in = argument;
      const size_t wanted = in->size < kMostRead ? in->size : kMostRead;
      const ssize_t got = pread(server->file, body, wanted, (off_t)in->offset);
      return got < 0 ? -errno : got;
    }
    case FUSE_STATFS:
      return sizeof(struct fuse_statfs_out);
    case FUSE_FLUSH: /* whoever closes the file waits for it */
    case FUSE_READDIR:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
      return 0;
    default:
      return -ENOSYS;
  }
}

static int serve(const char* folder, const char* file) {
  struct server server;
  server.file = open(file, O_RDONLY | O_CLOEXEC);
  if (server.file < 0 || fstat(server.file, &server.status) != 0) return cannot(file);
  server.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (server.device < 0) return cannot("/dev/fuse");
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
           server.device);
  if (mount("hanging", folder, "fuse", MS_NODEV | MS_NOSUID, options) != 0) return cannot("mount");
  ready();
  static char request[kMostRead + 4096];
  static struct answer answer;
  for (;;) {
    const ssize_t got = read(server.device, request, sizeof request);
    if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) continue;
    if (got < (ssize_t)sizeof(struct fuse_in_header)) break;
    const struct fuse_in_header* asked = (const struct fuse_in_header*)request;
    if (asked->opcode == FUSE_FORGET || asked->opcode == FUSE_BATCH_FORGET ||
        asked->opcode == FUSE_INTERRUPT) {
      continue; /* nobody waits for an answer */
    }
    memset(&answer, 0, sizeof answer);
    const long body = answer_to(&server, asked, request + sizeof *asked, answer.body);
    answer.head.unique = asked->unique;
    answer.head.error = body < 0 ? (int)body : 0;
    answer.head.len = (unsigned)(sizeof answer.head + (body < 0 ? 0 : (size_t)body));
    if (write(server.device, &answer, answer.head.len) < 0 && errno != ENOENT) break;
  }
  return 0;
}

static custom_labels_labelset_t set;

static void set_label(void) {
  *(custom_labels_labelset_t* volatile*)&custom_labels_current_set = &set;
}

static void compute(void) {
  for (unsigned long turns = 0;; turns++) __asm__ volatile("" : : "r"(turns));
}

static int map(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return cannot(path);
  const size_t size = (size_t)status.st_size;
  const volatile char* at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  if (at == MAP_FAILED) return cannot("mmap");
  close(file);
  ready();
  alarm(300);
  compute();
  return 0;
}

static void* compute_with_label(void* nothing) {
  set_label();
  ready();
  compute();
  return nothing;
}

/* Nothing of the file is read. */
static int label(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return cannot(path);
  const unsigned char* at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  if (at == MAP_FAILED) return cannot("mmap");
  close(file);
  static custom_labels_label_t slot;
  slot.key = (custom_labels_string_t){4, (const unsigned char*)"hang"};
  slot.value = (custom_labels_string_t){4, at};
  set = (custom_labels_labelset_t){&slot, 1, 1};
  set_label();
  alarm(300);
  pthread_t computing;
  if (pthread_create(&computing, NULL, compute_with_label, NULL) != 0) return cannot("a thread");
  for (;;) pause();
}

int main(int count, char** words) {
  if (count == 4 && strcmp(words[1], "serve") == 0) return serve(words[2], words[3]);
  if (count == 3 && strcmp(words[1], "map") == 0) return map(words[2]);
  if (count == 3 && strcmp(words[1], "label") == 0) return label(words[2]);
  fputs("usage: hanging_files serve FOLDER FILE | map FILE | label FILE\n", stderr);
  return 2;
}
