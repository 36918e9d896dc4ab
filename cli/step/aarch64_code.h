// Machine code of aarch64, as far as stepping needs to know it: pure functions of instruction
// words, the same on every machine.
//
// Source: Arm Architecture Reference Manual for A-profile, section C4.1 (encodings by class) and
// B2.9 (exclusive loads and stores).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aarch64_words.h"
#include "cli/step/instruction.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// How code refers to a thread-local variable.
struct VariableReferences {
  std::vector<std::int64_t> tp_offsets;
  std::vector<Address> slots;  // runtime addresses of words of a global offset table
};

namespace aarch64 {

using labelscope::a64::kInstructionSize;

Flow flow_of(std::uint32_t word);
// BRK, with any number: compilers have some of their own.
bool is_breakpoint(std::uint32_t word);

// Returns the addresses at which a sequence of an exclusive load and its store can be left, if the
// first instruction begins one; else none. A sequence that waits by jumping back to its own
// beginning has not left it.
//
// Any interruption of a thread between the two, also the trap of a step, clears the monitor that
// the store checks: the store fails, and the program tries again. If it is stepped, it does so for
// ever.
std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code);

// This many instructions are examined after one that begins an address.
inline constexpr std::size_t kWordsAhead = 128;
// Returns whether the instruction at `address`, the first of `words`, begins the address of a
// wanted variable: it reads the thread pointer, and an offset is added after it; or it has the page
// of a slot, and the rest of the slot's address comes after it. Registers are followed, branches
// are not.
bool begins_reference(Address address, std::span<const std::uint32_t> words,
                      const VariableReferences& wanted);
// A quick test: false for most instructions, whatever variable is wanted.
bool may_begin_reference(std::uint32_t word);

}  // namespace aarch64
}  // namespace labelscope::cli
