// Code that other unwinders have got wrong, each with a letter of call_chain.h: see kHardCalls.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/call_chain.h"
#include "unwind/stack.h"

namespace labelscope::test {

struct HardCall {
  char letter;
  const char* what;
  // The end of its stacks while its own code runs.
  ls_stack_end end;
  void (*call)();
  // Returns whether a first frame is in the code that is meant; null stands for any frame with this
  // letter.
  bool (*is_there)(std::uint64_t pc);
};
const std::vector<HardCall>& hard_calls();
// Returns the codes of chain_codes() and of hard_calls().
const ChainCodes& all_chain_codes();
// Returns the start of the handler that the kernel calls for one of them.
std::uint64_t start_of_handler();
// Makes all calls in turn, below two callers without frame pointers, until `done`.
void call_hard_ones(const std::function<bool()>& done);

}  // namespace labelscope::test
