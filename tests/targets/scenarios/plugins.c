/* Sets the label from=start by the writer library that it is linked with, loads each file of its
 * arguments, which are copies of that library, sets plugin=loaded by each of them, prints "ready",
 * and computes until stdin closes. */
#define _GNU_SOURCE
#include <customlabels/writer.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sink;

int main(int argc, char** argv) {
  custom_labels_result_t (*set)(const void*, size_t, const void*, size_t) = NULL;
  custom_labels_thread_set("from", 4, "start", 5);
  for (int i = 1; i < argc; i++) {
    /* Without RTLD_DEEPBIND the copy would use the variable of the first library. */
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void* symbol = library ? dlsym(library, "custom_labels_thread_set") : NULL;
    if (!symbol) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    memcpy(&set, &symbol, sizeof set);
    set("plugin", 6, "loaded", 6);
  }
  puts("ready");
  fflush(stdout);
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  while (poll(&in, 1, 0) == 0) {
    for (unsigned i = 0; i < 1u << 18; i++) sink += i;
  }
  return 0;
}
