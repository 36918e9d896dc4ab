// Static variables with the names of those in variables.c, in another file of the program.
static __thread volatile int exe_twin;      // thread-local in both files
static __thread volatile int exe_shadowed;  // not thread-local in variables.c

void set_twins(int number);
void set_twins(int number) {
  exe_twin = 2000 + number;
  exe_shadowed = 3000 + number;
}
