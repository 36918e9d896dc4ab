/* A library with one function, which calls back. It is built with frames of different sizes, so
 * that the table of one is wrong for the other. */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN extern char __start_chain_library[];
HIDDEN extern char __stop_chain_library[];

__attribute__((section("chain_library"), noipa)) void library_call(void (*next)(void)) {
  volatile char room[ROOM];
  room[0] = 1;
  next();
  room[ROOM - 1] = room[0];
}

void library_code(unsigned long* bounds) {
  bounds[0] = (unsigned long)__start_chain_library;
  bounds[1] = (unsigned long)__stop_chain_library;
}
