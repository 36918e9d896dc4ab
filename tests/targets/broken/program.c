/* A program whose labels are not shown as they should be, because of how it was built
 * (flawed_publisher.c, broken.cmake), or because of what it does.
 *
 *   program [--write WHAT] [--dlopen PATH]...
 *
 * Main labels itself through the publisher that it was built with (unless NO_PUBLISHER), or through
 * each of those that it loads, prints its truth (tests/README.md) and stays until stdin closes.
 * WHAT is:
 * - good: two labels (default);
 * - nothing: the variable is not even touched;
 * - null-pointer: the variable is touched and null;
 * - null-value: the second label has a key and no value;
 * - unmapped-set, unmapped-storage, unmapped-string: this pointer leads to unmapped memory;
 * - huge-count: a count of a million, and an array of one page at the end of a mapping;
 * - no-storage: a count, and a null storage. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "publisher.h"
#include "truth.h"

static struct truth truth = {.kind = "main"};
static const char* modules[kMaxPublishers];
static int publishers;
/* The sets that are published; truth.variables[i].set keeps the right one. */
static custom_labels_labelset_t published[kMaxPublishers];

static unsigned char* map_pages(size_t size) {
  void* pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) truth_cannot("mmap", "no memory");
  return pages;
}

/* Returns an address that was mapped once, with unmapped pages around it. */
static void* unmapped(void) {
  unsigned char* pages = map_pages(3 * 4096);
  munmap(pages, 3 * 4096);
  return pages + 4096;
}

static custom_labels_label_t label(const char* key, const char* value) {
  const custom_labels_label_t pair = {{strlen(key), (const unsigned char*)key},
                                      {strlen(value), (const unsigned char*)value}};
  return pair;
}

static void hide(struct truth_variable* variable) {
  memset(variable->shown, 0, sizeof variable->shown);
}

/* Returns the pointer for the variable. `shown` gets what a reader must show all the same. */
static custom_labels_labelset_t* make_set(struct truth_variable* variable,
                                          custom_labels_labelset_t* set, const char* what) {
  *set = (custom_labels_labelset_t){variable->storage, 2, kMaxTruthLabels};
  variable->set = *set;
  variable->storage[0] = label("tenant", "acme");
  variable->storage[1] = label("route", "/pay");
  variable->shown[0] = variable->shown[1] = 1;
  if (strcmp(what, "good") == 0) return set;
  if (strcmp(what, "null-value") == 0) {
    variable->storage[1].value.buf = NULL;
    variable->shown[1] = 0;
    return set;
  }
  hide(variable); /* nothing of a set that is not wholly readable is shown */
  if (strcmp(what, "null-pointer") == 0) return NULL;
  if (strcmp(what, "unmapped-set") == 0) return unmapped();
  if (strcmp(what, "unmapped-storage") == 0) {
    set->storage = unmapped();
  } else if (strcmp(what, "unmapped-string") == 0) {
    variable->storage[1].value.buf = unmapped();
  } else if (strcmp(what, "no-storage") == 0) {
    set->storage = NULL;
  } else if (strcmp(what, "huge-count") == 0) {
    unsigned char* pages = map_pages(2 * 4096);
    munmap(pages + 4096, 4096);
    set->storage = (custom_labels_label_t*)(void*)(pages + 4096 - sizeof(custom_labels_label_t));
    set->storage[0] = variable->storage[0];
    set->count = 1000000;
  } else {
    truth_cannot(what, "no such thing to write");
  }
  return set;
}

static void use(const char* module, publisher_variable_fn* find, const char* what) {
  const int index = publishers % kMaxPublishers; /* one more than readers take has nothing new */
  struct truth_variable* variable = &truth.variables[index];
  if (publishers < kMaxPublishers) modules[publishers] = module;
  publishers++;
  if (strcmp(what, "nothing") == 0) return;
  variable->address = find();
  custom_labels_labelset_t* set = make_set(variable, &published[index], what);
#ifdef FOUR_BYTES
  memcpy(find(), &set, 4);
#else
  *find() = set;
#endif
}

#ifndef NO_DLOPEN
static void load(const char* path, const char* what) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) truth_cannot("dlopen", dlerror());
  publisher_variable_fn* find = (publisher_variable_fn*)dlsym(library, "publisher_variable");
  if (find == NULL) truth_cannot("dlsym", dlerror());
  const char* slash = strrchr(path, '/');
  use(slash == NULL ? path : slash + 1, find, what);
}
#else
static void load(const char* path, const char* what) { truth_cannot(path, what); }
#endif

int main(int argc, char** argv) {
  const char* what = "good";
  int loads = 0;
  truth_take_identity(&truth);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--write") == 0) {
      what = argv[i + 1];
    } else if (strcmp(argv[i], "--dlopen") == 0) {
      load(argv[i + 1], what);
      loads++;
    } else {
      truth_cannot(argv[i], "no such option");
    }
  }
#ifndef NO_PUBLISHER
  if (loads == 0) use(MODULE, publisher_variable, what);
#endif
  truth_print(&truth, modules, publishers < kMaxPublishers ? publishers : kMaxPublishers);
  puts("ready");
  fflush(stdout);
  for (;;) {
    char ignored[64];
    if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return 0;
  }
}
