/* Labels as ABI structures written by hand, and the JSON that shows a test what they are. */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void truth_take_identity(struct truth* truth) {
  truth->tid = (pid_t)syscall(SYS_gettid);
#if defined(__x86_64__)
  __asm__("mov %%fs:0, %0" : "=r"(truth->thread_pointer));
#elif defined(__aarch64__)
  __asm__("mrs %0, tpidr_el0" : "=r"(truth->thread_pointer));
#else
#error "the ABI knows x86-64 and aarch64"
#endif
}

static custom_labels_string_t bytes(const void* buf, size_t len) {
  const custom_labels_string_t string = {len, buf};
  return string;
}

static custom_labels_string_t text(const char* buf) { return bytes(buf, strlen(buf)); }

static void add(struct truth_variable* variable, custom_labels_string_t key,
                custom_labels_string_t value, int shown) {
  const size_t slot = variable->set.count++;
  variable->storage[slot].key = key;
  variable->storage[slot].value = value;
  variable->shown[slot] = (unsigned char)shown;
}

void truth_make_labels(struct truth_variable* variable, int index, int publisher) {
  variable->set.storage = variable->storage;
  variable->set.count = 0;
  variable->set.capacity = kMaxTruthLabels;
  /* Two publishers of one process never use the same key here, so that each label shows its source.
   */
  snprintf(variable->text[0], sizeof variable->text[0], "thread.%d", publisher);
  snprintf(variable->text[1], sizeof variable->text[1], "number-%d", index);
  const custom_labels_string_t key = text(variable->text[0]);
  const custom_labels_string_t absent = {0, NULL};
  if (index != 0) add(variable, absent, text("deleted"), 0);
  add(variable, key, text(variable->text[1]), 1);
  if (index == 0) {
    add(variable, bytes(variable->text[0] + 7, 1), text("plain"), 1);
    return;
  }
  add(variable, key, text("second of two equal keys"), 0);
  add(variable, bytes("\0key\xff", 5), bytes("value\0\x1b[31m", 11), 1);
  add(variable, bytes("", 0), bytes("", 0), 1);
}

static void print_hex(custom_labels_string_t string) {
  putchar('"');
  for (size_t i = 0; i < string.len; i++) printf("%02x", string.buf[i]);
  putchar('"');
}

static void print_variable(const struct truth_variable* variable, const char* module) {
  printf("{\"module\":\"%s\",\"address\":", module);
  if (variable->address == NULL) {
    fputs("null", stdout);
  } else {
    printf("%llu", (unsigned long long)(uintptr_t)variable->address);
  }
  fputs(",\"labels\":[", stdout);
  const char* separator = "";
  for (size_t i = 0; i < variable->set.count; i++) {
    if (!variable->shown[i]) continue;
    printf("%s{\"key\":", separator);
    print_hex(variable->storage[i].key);
    fputs(",\"value\":", stdout);
    print_hex(variable->storage[i].value);
    putchar('}');
    separator = ",";
  }
  fputs("]}", stdout);
}

void truth_print(const struct truth* truth, const char* const* modules, int publishers) {
  printf("{\"tid\":%d,\"tp\":%llu,\"kind\":\"%s\",\"variables\":[", (int)truth->tid,
         (unsigned long long)truth->thread_pointer, truth->kind);
  for (int i = 0; i < publishers; i++) {
    if (i != 0) putchar(',');
    print_variable(&truth->variables[i], modules[i]);
  }
  puts("]}");
}

_Noreturn void truth_cannot(const char* what, const char* why) {
  printf("{\"cannot\":\"%s: ", what);
  for (; *why != '\0'; why++) {
    const char c = *why;
    putchar(c == '"' || c == '\\' || (unsigned char)c < 0x20 ? '\'' : c);
  }
  puts("\"}");
  fflush(stdout);
  _exit(3);
}
