/* A program that loads its library of labels (library.c) when it is already running. */
#include <dlfcn.h>

#include "customlabels/label_abi.h"
#include "stay.h"

int main(int argc, char** argv) {
  (void)argv;
  void* library = dlopen(LIBRARY, RTLD_NOW);
  if (library == NULL) return 3;
  void (*set_labels)(void) = (void (*)(void))dlsym(library, "set_labels");
  if (set_labels == NULL) return 3;
  set_labels();
  stay(argc);
}
