// What the parts of the chain target share. Each function of the chain notes where it will return
// to: those addresses, in order, are what a stack must contain.
#ifndef LABELSCOPE_TESTS_TARGETS_CHAIN_H
#define LABELSCOPE_TESTS_TARGETS_CHAIN_H

// Once for each function of the chain, the outermost first.
void chain_note(void* return_address);
#define CHAIN_NOTE() chain_note(__builtin_return_address(0))

// Calls `next`, from a library if there is one.
int chain_in_library(int (*next)(int), int argument);

#endif
