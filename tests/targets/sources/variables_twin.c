// Variables of variables.c's names, in another file of the program: static ones.
static __thread volatile int exe_twin;      // there, too
static __thread volatile int exe_shadowed;  // no thread-local one there

void set_twins(int number);
void set_twins(int number) {
  exe_twin = 2000 + number;
  exe_shadowed = 3000 + number;
}
