// Code that unwinders have got wrong, each with a letter of call_chain.h: see kHardCalls.
#pragma once

#include <functional>
#include <vector>

#include "kernel/call_chain.h"
#include "unwind/stack.h"

namespace labelscope::test {

struct HardCall {
  char letter;
  const char* what;
  // How its stacks end while its own code runs.
  ls_stack_end end;
  void (*call)();
  // The first frame of the samples that are meant; null: any with this letter.
  bool (*is_there)(std::uint64_t pc);
};
const std::vector<HardCall>& hard_calls();
// Those of chain_codes() and of hard_calls().
const ChainCodes& all_chain_codes();
// Where the handler begins that the kernel calls for one of them.
std::uint64_t start_of_handler();
// Calls one after the other, below two callers without frame pointers, until `done`.
void call_hard_ones(const std::function<bool()>& done);

}  // namespace labelscope::test
