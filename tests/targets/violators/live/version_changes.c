/* The file says version 1, and the running program says another one. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  volatile uint32_t* version = (volatile uint32_t*)(uintptr_t)&custom_labels_abi_version;
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void* page = (void*)((uintptr_t)version & ~(uintptr_t)(size - 1));
  if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return 3;
  *version = 2;
  stay(argc);
}
