// A program whose label is its true call chain: each function has a letter, and the value of the
// thread's only label is the letters of the calls that are under way, outermost first.
//
//   push(letter); call; pop        the letter is there before the call and after the return
//
// A sample has the label of its moment. So the functions on its stack are the label's, or all but
// the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace labelscope::test {

// Publishes the label, which is empty, and gives signal handlers a stack of their own.
void begin_chain();
// Adds one letter during this call.
void call_in_chain(char letter, void (*call)());
// Calls at random, in ways that make stacks hard to unwind, until `done`. It calls begin_chain().
void call_at_random(unsigned seed, const std::function<bool()>& done);
// Recurses `depth` calls deep and burns CPU time there until `done`.
void recurse(unsigned depth, const std::function<bool()>& done);

// The code of one letter.
struct ChainCode {
  char letter;
  std::uint64_t start;
  std::uint64_t stop;
};
using ChainCodes = std::vector<ChainCode>;
// Returns the code of this program.
const ChainCodes& chain_codes();
// Returns the letters of the functions that these addresses are in, outermost first. The addresses
// are a stack, leaf first: all but the first are return addresses.
std::string letters_of(const std::vector<std::uint64_t>& stack,
                       const ChainCodes& codes = chain_codes());
// Returns the number of frames of recurse().
std::size_t recursions_in(const std::vector<std::uint64_t>& stack);

}  // namespace labelscope::test
