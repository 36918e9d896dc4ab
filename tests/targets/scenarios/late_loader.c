/* Computes without labels. After a line on stdin, it loads the writer library, sets phase=late and
 * computes on, until stdin closes. It prints "ready" and "labelled". */
#include <customlabels/writer.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sink;

static void compute(void) {
  for (unsigned i = 0; i < 1u << 18; i++) sink += i;
}

/* Returns 1 if a line came, 0 if there is nothing, and -1 at the end. */
static int ask_stdin(void) {
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  char line[64];
  if (poll(&in, 1, 0) <= 0) return 0;
  return read(STDIN_FILENO, line, sizeof line) > 0 ? 1 : -1;
}

static void say(const char* text) {
  puts(text);
  fflush(stdout);
}

int main(int argc, char** argv) {
  custom_labels_result_t (*set)(const void*, size_t, const void*, size_t) = NULL;
  if (argc != 2) return 2;
  say("ready");
  for (int asked = 0; asked >= 0; asked = ask_stdin()) {
    if (asked == 1 && set == NULL) {
      void* library = dlopen(argv[1], RTLD_NOW);
      void* symbol = library ? dlsym(library, "custom_labels_thread_set") : NULL;
      if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
      }
      memcpy(&set, &symbol, sizeof set);
      set("phase", 5, "late", 4);
      say("labelled");
    }
    compute();
  }
  return 0;
}
