/* The key's pointer is where its length should be, and the other way round. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  static const char key[] = "tenant";
  custom_labels_label_t storage[] = {label("tenant", "acme")};
  storage[0].key = (custom_labels_string_t){(size_t)(uintptr_t)key, (const unsigned char*)(uintptr_t)strlen(key)};
  const custom_labels_labelset_t set = {storage, 1, 1};
  custom_labels_current_set = &set;
  stay(argc);
}
