// Shared by the parts of the chain target. Each function of the chain notes where it will return
// to. A stack must contain those addresses, in order.
#ifndef LABELSCOPE_TESTS_TARGETS_CHAIN_H
#define LABELSCOPE_TESTS_TARGETS_CHAIN_H

// Each function of the chain calls this once, the outermost first.
void chain_note(void* return_address);
#define CHAIN_NOTE() chain_note(__builtin_return_address(0))

// Calls `next`, from a library if there is one.
int chain_in_library(int (*next)(int), int argument);

#endif
