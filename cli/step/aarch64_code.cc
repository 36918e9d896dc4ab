#include "cli/step/aarch64_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace labelscope::cli::aarch64 {
namespace {

using labelscope::a64::adrp_page;
using labelscope::a64::bits;
using labelscope::a64::branch_distance;
using labelscope::a64::is_adrp;
using labelscope::a64::is_direct_call;
using labelscope::a64::through_register;
using labelscope::a64::ThroughRegister;

// Sequences are a handful of instructions long. The manual asks for no more, since a cache line
// must stay in place meanwhile.
constexpr std::size_t kMaxSequence = 16;

// The class "load/store exclusive" has 0010000 in bits 29 to 23; bit 22 distinguishes loads from
// stores. With bit 21 set and bit 31 clear it is a compare-and-swap of a pair.
bool is_exclusive(std::uint32_t word) {
  return bits(word, 29, 23) == 0x10 && !(bits(word, 21, 21) == 1 && bits(word, 31, 31) == 0);
}
bool is_exclusive_load(std::uint32_t word) { return is_exclusive(word) && bits(word, 22, 22) == 1; }
bool is_exclusive_store(std::uint32_t word) {
  return is_exclusive(word) && bits(word, 22, 22) == 0;
}

std::uint32_t word_at(std::span<const std::byte> code, std::size_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + index * kInstructionSize, kInstructionSize);
  return word;
}

// ---- references

bool reads_thread_pointer(std::uint32_t word) { return bits(word, 31, 5) == 0x6A9'DE82; }

// An instruction that adds a number of 12 bits to a register: add, or a load or store of eight
// bytes.
struct Offsetting {
  unsigned from = 0;
  unsigned to = 0;
  std::uint64_t number = 0;
  bool adds = false;
};

std::optional<Offsetting> offsetting(std::uint32_t word) {
  Offsetting found{bits(word, 9, 5), bits(word, 4, 0), bits(word, 21, 10), false};
  switch (bits(word, 31, 22)) {
    case 0x244:  // add
    case 0x245:  // add, shifted by 12
      found.adds = true;
      if (bits(word, 22, 22) == 1) found.number <<= 12;
      return found;
    case 0x3E4:  // str
    case 0x3E5:  // ldr
      found.number *= sizeof(Address);
      return found;
    default:
      return std::nullopt;
  }
}

// Returns whether additions to `base`, or to registers made from it, reach the wanted number.
bool reaches(std::span<const std::uint32_t> words, unsigned base, std::uint64_t wanted) {
  struct Known {
    bool known = false;
    std::uint64_t added = 0;
  };
  std::array<Known, 32> registers{};
  registers[base].known = true;
  for (const std::uint32_t word : words) {
    const auto found = offsetting(word);
    if (!found || !registers[found->from].known) continue;
    const std::uint64_t sum = registers[found->from].added + found->number;
    if (sum == wanted) return true;
    if (found->adds) registers[found->to] = {true, sum};
  }
  return false;
}

// Returns whether a constant of 16 bits is among the instructions: larger offsets are made with
// these.
bool has_constant(std::span<const std::uint32_t> words, std::uint64_t wanted) {
  return std::ranges::any_of(words, [&](std::uint32_t word) {
    const bool moves = bits(word, 30, 23) == 0xA5 || bits(word, 30, 23) == 0xE5;
    return moves && bits(word, 20, 5) == (wanted & 0xFFFF);
  });
}

bool leads_away(Flow flow) { return flow != Flow::kNext && flow != Flow::kExclusiveLoad; }

}  // namespace

Flow flow_of(std::uint32_t word) {
  switch (through_register(word)) {
    case ThroughRegister::kJump:
      return Flow::kJump;
    case ThroughRegister::kCall:
      return Flow::kCall;
    case ThroughRegister::kReturn:
      return Flow::kReturn;
    case ThroughRegister::kNo:
      break;
  }
  if (is_direct_call(word)) return Flow::kCall;
  if (branch_distance(word)) return Flow::kJump;
  if ((word & 0xFFE0'001F) == 0xD400'0001) return Flow::kSystemCall;
  if (is_breakpoint(word)) return Flow::kTrap;
  if (is_exclusive_load(word)) return Flow::kExclusiveLoad;
  return Flow::kNext;
}

bool is_breakpoint(std::uint32_t word) { return (word & 0xFFE0'001F) == 0xD420'0000; }

std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code) {
  const std::size_t count = std::min(code.size() / kInstructionSize, kMaxSequence);
  if (count == 0 || !is_exclusive_load(word_at(code, 0))) return {};
  std::size_t store = 1;
  while (store < count && !is_exclusive_store(word_at(code, store))) ++store;
  if (store >= count) return {};
  const Address end = address + (store + 1) * kInstructionSize;
  std::vector<Address> exits{end};
  for (std::size_t i = 1; i < store; ++i) {
    const std::uint32_t word = word_at(code, i);
    const Address here = address + i * kInstructionSize;
    const auto distance = branch_distance(word);
    if (distance && !is_direct_call(word)) {
      const Address target = here + static_cast<Address>(*distance);
      if (target < address || target > end) exits.push_back(target);
    } else if (leads_away(flow_of(word))) {
      exits.push_back(here);  // an indirect branch may lead anywhere
    }
  }
  return exits;
}

bool may_begin_reference(std::uint32_t word) { return reads_thread_pointer(word) || is_adrp(word); }

bool begins_reference(Address address, std::span<const std::uint32_t> words,
                      const VariableReferences& wanted) {
  if (words.empty()) return false;
  const std::uint32_t first = words.front();
  const unsigned base = bits(first, 4, 0);
  const auto behind = words.subspan(1, std::min(words.size() - 1, kWordsAhead));
  if (reads_thread_pointer(first)) {
    return std::any_of(wanted.tp_offsets.begin(), wanted.tp_offsets.end(), [&](std::int64_t at) {
      const auto offset = static_cast<std::uint64_t>(at);
      return reaches(behind, base, offset) || has_constant(behind, offset);
    });
  }
  if (!is_adrp(first)) return false;
  const Address page = adrp_page(first, address);
  return std::any_of(wanted.slots.begin(), wanted.slots.end(), [&](Address slot) {
    return (slot & ~Address{0xFFF}) == page && reaches(behind, base, slot & 0xFFF);
  });
}

}  // namespace labelscope::cli::aarch64
