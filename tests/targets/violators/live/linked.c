/* A program that is linked against its library of labels (library.c). */
#include "stay.h"

void set_labels(void);

int main(int argc, char** argv) {
  (void)argv;
  set_labels();
  stay(argc);
}
