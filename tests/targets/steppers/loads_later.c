/* Loads the writer that its argument names when it runs already, and calls it. */
#include <dlfcn.h>
#include <stddef.h>

typedef void (*plain_call)(void);
typedef void (*turn_call)(int);

int main(int argc, char** argv) {
  void* writer = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (writer == NULL) return 2;
  const plain_call begin = (plain_call)dlsym(writer, "stepper_begin");
  const turn_call update = (turn_call)dlsym(writer, "stepper_update");
  const plain_call end = (plain_call)dlsym(writer, "stepper_end");
  if (begin == NULL || update == NULL || end == NULL) return 3;
  begin();
  for (int turn = 0; turn < 3; turn++) update(turn);
  end();
  return 0;
}
