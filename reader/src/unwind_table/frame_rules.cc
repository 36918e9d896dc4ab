// Call frame information may compute the CFA and the place of each register by a program for a
// stack machine. Compilers and assembler files write only a few programs; each is a kind of rule:
//
//   register + n                                   nearly everything
//   sp + 8 + ((pc & 15) >= 11) * 8                 the PLT, written by the linker
//   *(sp + a) + b, *(fp + a) + b                   hand-written code that aligns its stack; GCC's
//   *(sp + 160), and everything by expressions     the libc's return from a signal handler
//
// An entry of augmentation "S" is for the frame of a signal handler, or of code that changes
// stacks: OCaml 5 calls C functions on another stack than its own. Only the kernel's frame has
// registers that the CFA does not lead to.
//
// Sources: LSB 10.6, DWARF 5 sections 2.5 and 6.4; elfutils/libdw.h for how libdw presents them.
#include "unwind_table/frame_rules.h"

#include <dwarf.h>

#include <cstring>
#include <limits>
#include <optional>
#include <span>

namespace labelscope {
namespace {

using Operations = std::span<const Dwarf_Op>;

// Fills a field, if the number fits.
template <class T>
bool put(T& field, Dwarf_Word value) {
  const auto number = static_cast<std::int64_t>(value);
  if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) {
    return false;
  }
  field = static_cast<T>(number);
  return true;
}

using RegisterPlus = OrdinaryFrame::RegisterPlus;
using Numbers = FrameNumbers;

std::optional<RegisterPlus> register_plus(const Dwarf_Op& operation) {
  if (operation.atom == DW_OP_bregx) {
    return RegisterPlus{static_cast<unsigned>(operation.number), operation.number2};
  }
  if (operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31) {
    return RegisterPlus{static_cast<unsigned>(operation.atom - DW_OP_breg0), operation.number};
  }
  return std::nullopt;
}

bool set_cfa_register(const RegisterPlus& base, const Numbers& numbers, ls_unwind_rule& rule) {
  rule.cfa = base.number == numbers.stack_pointer   ? LS_CFA_SP
             : base.number == numbers.frame_pointer ? LS_CFA_FP
                                                    : LS_CFA_REGISTER;
  // Larger numbers are those of vectors and flags, or of no register.
  if (LS_OPERAND_NUMBER(base.number) != base.number) return false;
  if (rule.cfa == LS_CFA_REGISTER) rule.operand = static_cast<std::int8_t>(base.number);
  return put(rule.cfa_offset, base.offset);
}

// The program is breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus.
bool is_plt(Operations operations) {
  constexpr std::uint8_t kWanted[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
                                      DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
  if (operations.size() != std::size(kWanted) || operations[1].number != 0) return false;
  for (std::size_t i = 0; i < std::size(kWanted); ++i) {
    if (kWanted[i] != 0 && operations[i].atom != kWanted[i]) return false;
  }
  return operations[4].atom >= DW_OP_lit0 && operations[4].atom <= DW_OP_lit16;
}

bool set_cfa_expression(Operations operations, Machine machine, const Numbers& numbers,
                        ls_unwind_rule& rule) {
  if (machine == Machine::kX86_64 && is_plt(operations)) {
    rule.cfa = LS_CFA_PLT;
    rule.operand = static_cast<std::int8_t>(operations[4].atom - DW_OP_lit0);
    return put(rule.cfa_offset, operations[0].number);
  }
  const bool adds = operations.size() == 3 && operations[2].atom == DW_OP_plus_uconst;
  if ((operations.size() != 2 && !adds) || operations[1].atom != DW_OP_deref) return false;
  const auto base = register_plus(operations[0]);
  if (!base) return false;
  if (base->number != numbers.stack_pointer && base->number != numbers.frame_pointer) return false;
  rule.cfa = base->number == numbers.stack_pointer ? LS_CFA_AT_SP : LS_CFA_AT_FP;
  const Dwarf_Word added = adds ? operations[2].number : 0;
  return added % 8 == 0 && put(rule.operand, added / 8) && put(rule.cfa_offset, base->offset);
}

bool set_cfa(Dwarf_Frame* frame, Machine machine, const Numbers& numbers, ls_unwind_rule& rule) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0) return false;
  if (count == 1) {
    const auto base = register_plus(operations[0]);
    return base && set_cfa_register(*base, numbers, rule);
  }
  return set_cfa_expression({operations, count}, machine, numbers, rule);
}

// Where a register of the caller is.
struct Place {
  enum Kind { kUndefined, kSame, kAtCfa, kRegister, kExpression, kDamaged } kind;
  Dwarf_Word number = 0;
  // The operations of an expression, without the CFA that it starts with.
  Operations operations{};
};

// `memory` must live as long as the place is used.
Place place_of(Dwarf_Frame* frame, unsigned number, Dwarf_Op (&memory)[3]) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), memory, &operations, &count) != 0) {
    return {Place::kDamaged};
  }
  if (count == 0) return {operations == nullptr ? Place::kSame : Place::kUndefined};
  const Operations all(operations, count);
  if (all[0].atom == DW_OP_regx && count == 1) return {Place::kRegister, all[0].number};
  if (all[0].atom >= DW_OP_reg0 && all[0].atom <= DW_OP_reg31 && count == 1) {
    return {Place::kRegister, static_cast<Dwarf_Word>(all[0].atom - DW_OP_reg0)};
  }
  if (all[0].atom != DW_OP_call_frame_cfa) return {Place::kExpression, 0, all};
  if (count == 1) return {Place::kAtCfa, 0};
  if (count == 2 && all[1].atom == DW_OP_plus_uconst) return {Place::kAtCfa, all[1].number};
  return {Place::kExpression, 0, all.subspan(1)};
}

void set_frame_pointer(const Place& place, const Numbers& numbers, ls_unwind_rule& rule) {
  rule.fp = LS_FP_LOST;
  if (place.kind == Place::kSame) {
    rule.fp = LS_FP_SAME;
  } else if (place.kind == Place::kAtCfa) {
    if (put(rule.fp_offset, place.number)) rule.fp = LS_FP_AT_CFA;
  } else if (place.kind == Place::kExpression && place.operations.size() == 1) {
    const auto base = register_plus(place.operations[0]);
    if (base && base->number == numbers.frame_pointer && put(rule.fp_offset, base->offset)) {
      rule.fp = LS_FP_AT_FP;
    }
  }
  if (rule.fp == LS_FP_LOST) rule.fp_offset = 0;
}

bool set_return_address(const Place& place, unsigned number, const Numbers& numbers,
                        ls_unwind_rule& rule) {
  // glibc's rawmemchr() for aarch64 names x15, but the address is there only from its middle on.
  if (number != numbers.return_address && place.kind != Place::kAtCfa) return false;
  switch (place.kind) {
    case Place::kUndefined:
      rule.ra = LS_RA_NONE;
      return true;
    case Place::kSame:  // the address is still in its register, the link register of aarch64
      rule.ra = LS_RA_REGISTER;
      return put(rule.ra_offset, number);
    case Place::kAtCfa:
      rule.ra = LS_RA_AT_CFA;
      return put(rule.ra_offset, place.number);
    case Place::kRegister:
      rule.ra = LS_RA_REGISTER;
      return place.number < 32 && put(rule.ra_offset, place.number);
    case Place::kExpression:
    case Place::kDamaged:
      break;
  }
  return false;
}

// Sets where the caller's rbx is (x86-64), if the rule has room for it.
void set_rbx(const Place& place, ls_unwind_rule& rule) {
  if (rule.cfa != LS_CFA_SP && rule.cfa != LS_CFA_FP) return;
  const auto words = -static_cast<std::int64_t>(place.number) / 8;
  if (place.kind == Place::kSame || place.kind == Place::kUndefined) {
    // libdw may take rbx for undefined where nothing is said, but functions keep it (psABI 3.2.1).
    rule.operand = LS_RBX_SAME;
  } else if (place.kind == Place::kAtCfa && place.number % 8 == 0 && words > 0 &&
             words <= LS_RBX_MOST_WORDS) {
    rule.operand = static_cast<std::int8_t>(words + LS_RBX_SAME);
  }
}

// The step takes the CFA for the caller's stack pointer. That is right, except in longjmp().
bool is_cfa_the_stack_pointer(Dwarf_Frame* frame, const Numbers& numbers) {
  Dwarf_Op memory[3];
  const Place place = place_of(frame, numbers.stack_pointer, memory);
  return place.kind == Place::kUndefined || place.kind == Place::kSame ||
         (place.kind == Place::kExpression && place.operations.size() == 1 &&
          place.operations[0].atom == DW_OP_stack_value);
}

}  // namespace

// On x86-64 libcs describe the kernel's frame by expressions, and on aarch64 the vDSO describes it
// by its frame pointer.
bool is_signal_frame(Dwarf_Frame* frame, Machine machine, unsigned return_address) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (machine == Machine::kAarch64) {
    return dwarf_frame_cfa(frame, &operations, &count) != 0 || count < 2;
  }
  Dwarf_Op memory[3];
  const Place place = place_of(frame, return_address, memory);
  return place.kind != Place::kAtCfa && place.kind != Place::kUndefined;
}

FrameNumbers frame_numbers(Machine machine) {
  return machine == Machine::kX86_64 ? Numbers{7, 6, 16, 3} : Numbers{31, 29, 30};
}

ls_unwind_rule rule_of_frame(Dwarf_Frame* frame, Machine machine, const FrameFacts& facts) {
  const unsigned return_address = facts.return_address;
  if (facts.signal && is_signal_frame(frame, machine, return_address)) {
    return rule_of_kind(LS_CFA_SIGNAL);
  }
  const Numbers numbers = frame_numbers(machine);
  ls_unwind_rule rule{};
  Dwarf_Op memory[3];
  if (!set_return_address(place_of(frame, return_address, memory), return_address, numbers, rule)) {
    return rule_of_kind(LS_CFA_UNSUPPORTED);
  }
  // the place of the CFA does not matter
  if (rule.ra == LS_RA_NONE) return rule_of_kind(LS_CFA_SP);
  if (!set_cfa(frame, machine, numbers, rule) || !is_cfa_the_stack_pointer(frame, numbers)) {
    return rule_of_kind(LS_CFA_UNSUPPORTED);
  }
  set_frame_pointer(place_of(frame, numbers.frame_pointer, memory), numbers, rule);
  if (facts.signal && rule.ra == LS_RA_AT_CFA) rule.ra = LS_RA_OTHER_STACK;
  if (facts.wants_rbx && machine == Machine::kX86_64) {
    set_rbx(place_of(frame, numbers.rbx, memory), rule);
  }
  return rule;
}

ls_unwind_rule rule_of_ordinary(const OrdinaryFrame& state, const FrameNumbers& numbers,
                                bool wants_rbx) {
  const auto place = [](const FramePlace& known) {
    const Place::Kind kind = known.kind == FramePlace::kUndefined ? Place::kUndefined
                             : known.kind == FramePlace::kSame    ? Place::kSame
                                                                  : Place::kAtCfa;
    return Place{kind, known.offset};
  };
  ls_unwind_rule rule{};
  if (!set_return_address(place(state.return_address), numbers.return_address, numbers, rule)) {
    return rule_of_kind(LS_CFA_UNSUPPORTED);
  }
  if (rule.ra == LS_RA_NONE) return rule_of_kind(LS_CFA_SP);
  if (!set_cfa_register(state.cfa, numbers, rule)) return rule_of_kind(LS_CFA_UNSUPPORTED);
  set_frame_pointer(place(state.frame_pointer), numbers, rule);
  if (wants_rbx && numbers.rbx != UINT_MAX) set_rbx(place(state.rbx), rule);
  return rule;
}

std::optional<OrdinaryFrame> ordinary_frame(Dwarf_Frame* frame, const FrameNumbers& numbers,
                                            const FrameFacts& facts) {
  if (facts.signal || facts.return_address != numbers.return_address ||
      !is_cfa_the_stack_pointer(frame, numbers)) {
    return std::nullopt;
  }
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count != 1) return std::nullopt;
  const auto cfa = register_plus(operations[0]);
  if (!cfa) return std::nullopt;
  OrdinaryFrame state;
  state.cfa = *cfa;
  const auto take = [&](unsigned number, FramePlace& taken) {
    Dwarf_Op memory[3];
    const Place place = place_of(frame, number, memory);
    taken.offset = place.number;
    taken.kind = place.kind == Place::kAtCfa  ? FramePlace::kAtCfa
                 : place.kind == Place::kSame ? FramePlace::kSame
                                              : FramePlace::kUndefined;
    return place.kind == Place::kAtCfa || place.kind == Place::kSame ||
           place.kind == Place::kUndefined;
  };
  const bool all = take(numbers.return_address, state.return_address) &&
                   take(numbers.frame_pointer, state.frame_pointer) &&
                   (numbers.rbx == UINT_MAX || take(numbers.rbx, state.rbx));
  return all ? std::optional(state) : std::nullopt;
}

std::size_t RuleDictionary::Hash::operator()(const ls_unwind_rule& rule) const {
  std::uint64_t words[2];
  static_assert(sizeof words == sizeof rule);
  std::memcpy(words, &rule, sizeof words);
  // Odd numbers without a pattern spread the few bits that differ over all of them.
  std::uint64_t mixed = words[0] * 0x9E3779B97F4A7C15 ^ words[1] * 0xC2B2AE3D27D4EB4F;
  mixed ^= mixed >> 32;
  return mixed;
}

bool RuleDictionary::Equal::operator()(const ls_unwind_rule& left,
                                       const ls_unwind_rule& right) const {
  return same_rule(left, right);
}

Result<std::uint32_t> RuleDictionary::number_of(const ls_unwind_rule& rule) {
  auto [entry, fresh] = numbers_.try_emplace(rule, static_cast<std::uint32_t>(rules_.size()));
  if (!fresh) return entry->second;
  if (rules_.size() == limit_) {
    numbers_.erase(entry);
    return Error{ErrorCode::kLimit, "its call frame information has more than " +
                                        std::to_string(limit_) + " different rules"};
  }
  rules_.push_back(rule);
  return entry->second;
}

}  // namespace labelscope
