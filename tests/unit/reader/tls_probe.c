/* Prints where its own thread-local variables are, as distances from the thread pointer: one
 * "name distance" a line. The build sets BSS_ALIGN and DATA_ALIGN. */
#include <stdint.h>
#include <stdio.h>

__thread char probe_data __attribute__((aligned(DATA_ALIGN))) = 1;
__thread char probe_last_data = 2;
__thread char probe_first;
__thread char probe_aligned __attribute__((aligned(BSS_ALIGN)));
__thread uint64_t probe_last[3];

int main(void) {
  uintptr_t thread_pointer;
#if defined(__x86_64__)
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
#else
  __asm__("mrs %0, tpidr_el0" : "=r"(thread_pointer));
#endif
#define TELL(variable) \
  printf(#variable " %lld\n", (long long)((uintptr_t) & (variable)-thread_pointer))
  TELL(probe_data);
  TELL(probe_last_data);
  TELL(probe_first);
  TELL(probe_aligned);
  TELL(probe_last);
  return 0;
}
