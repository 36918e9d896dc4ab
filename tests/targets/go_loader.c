/* A program of C that loads the library made of go_labels/main.go, and runs it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  void (*run)(void) = NULL;
  if (library != NULL) *(void**)&run = dlsym(library, "Run");
  if (run == NULL) {
    const char* problem = dlerror();
    fprintf(stderr, "%s\n", problem != NULL ? problem : "usage: loader LIBRARY");
    return 1;
  }
  run();
  return 0;
}
