/* Loads the writers that its arguments name while it runs, one after the other. Each is called and
 * unloaded before the next one is loaded, mostly to the same addresses. */
#include <dlfcn.h>
#include <stddef.h>

typedef void (*plain_call)(void);
typedef void (*turn_call)(int);

static int use(const char* path) {
  void* writer = dlopen(path, RTLD_NOW);
  if (writer == NULL) return 2;
  const plain_call begin = (plain_call)dlsym(writer, "stepper_begin");
  const turn_call update = (turn_call)dlsym(writer, "stepper_update");
  const plain_call end = (plain_call)dlsym(writer, "stepper_end");
  if (begin == NULL || update == NULL || end == NULL) return 3;
  begin();
  for (int turn = 0; turn < 3; turn++) update(turn);
  end();
  return dlclose(writer);
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const int status = use(argv[i]);
    if (status != 0) return status;
  }
  return argc > 1 ? 0 : 2;
}
