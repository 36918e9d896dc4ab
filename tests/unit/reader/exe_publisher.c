/* A publisher in an executable that nothing exports: its symbols are in .symtab alone, or nowhere.
 */
#include <stdint.h>

__thread void* custom_labels_current_set;
const uint32_t custom_labels_abi_version = 1;

int main(void) { return custom_labels_current_set != 0 || custom_labels_abi_version != 1; }
