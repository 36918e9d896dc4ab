#include "chain.h"

__attribute__((noipa)) static int inner(int (*next)(int), int argument) {
  CHAIN_NOTE();
  volatile int room[100];
  room[argument] = argument;
  return next(room[argument]) + 1;  // not a tail call, since something follows it
}

__attribute__((noipa)) int chain_in_library(int (*next)(int), int argument) {
  CHAIN_NOTE();
  return inner(next, argument + 1) + 1;
}
