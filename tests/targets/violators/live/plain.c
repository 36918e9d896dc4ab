/* A program that knows nothing of labels. */
#include "stay.h"

int main(int argc, char** argv) {
  (void)argv;
  stay(argc);
}
