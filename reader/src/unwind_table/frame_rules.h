// This makes libdw's description of a place in code a rule of unwind_rules.h, and keeps each rule
// once.
#pragma once

#include <elfutils/libdw.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elf/elf_image.h"
#include "labelscope/result.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

// Returns a rule of this kind alone; nothing else in it has a meaning.
constexpr ls_unwind_rule rule_of_kind(ls_cfa_kind kind) {
  ls_unwind_rule rule{};
  rule.cfa = kind;
  return rule;
}

// Where a register of the caller is, as the ordinary instructions say it.
struct FramePlace {
  enum Kind : std::uint8_t { kUndefined, kSame, kAtCfa } kind = kUndefined;
  std::uint64_t offset = 0;  // of kAtCfa
};

// The registers that rules name, by their DWARF numbers.
struct FrameNumbers {
  unsigned stack_pointer = 0;
  unsigned frame_pointer = 0;
  unsigned return_address = 0;
  unsigned rbx = UINT_MAX;  // of x86-64
};
FrameNumbers frame_numbers(Machine machine);

// A frame whose CFA is a register plus a number, and is the caller's stack pointer.
struct OrdinaryFrame {
  struct RegisterPlus {
    unsigned number = 0;
    std::uint64_t offset = 0;
  };
  RegisterPlus cfa;
  FramePlace return_address;
  FramePlace frame_pointer;
  FramePlace rbx;
};

struct FrameFacts {
  unsigned return_address = 0;  // its register, or the number that stands for it
  bool signal = false;          // its entry has augmentation "S"
  bool wants_rbx = false;       // the rule is to say where the caller's rbx is (x86-64)
};
// Returns LS_CFA_UNSUPPORTED if no rule can describe the frame.
ls_unwind_rule rule_of_frame(Dwarf_Frame* frame, Machine machine, const FrameFacts& facts);
// Returns the same for a frame that is known to be ordinary.
ls_unwind_rule rule_of_ordinary(const OrdinaryFrame& state, const FrameNumbers& numbers,
                                bool wants_rbx);
// Returns the frame if it is ordinary.
std::optional<OrdinaryFrame> ordinary_frame(Dwarf_Frame* frame, const FrameNumbers& numbers,
                                            const FrameFacts& facts);

// Returns whether a frame whose entry has augmentation "S" is the one that the kernel makes for the
// handler of a signal. Code that changes stacks has the same augmentation.
bool is_signal_frame(Dwarf_Frame* frame, Machine machine, unsigned return_address);

// Rules have no padding, so their bytes are compared.
inline bool same_rule(const ls_unwind_rule& left, const ls_unwind_rule& right) {
  return std::memcmp(&left, &right, sizeof left) == 0;
}

class RuleDictionary {
 public:
  explicit RuleDictionary(std::size_t limit) : limit_(limit) {}
  // Returns the number of a rule. Fails with kLimit if there are too many.
  Result<std::uint32_t> number_of(const ls_unwind_rule& rule);
  const std::vector<ls_unwind_rule>& rules() const { return rules_; }
  std::vector<ls_unwind_rule> take() { return std::move(rules_); }

 private:
  struct Hash {
    std::size_t operator()(const ls_unwind_rule& rule) const;
  };
  struct Equal {
    bool operator()(const ls_unwind_rule& left, const ls_unwind_rule& right) const;
  };
  std::size_t limit_;
  std::vector<ls_unwind_rule> rules_;
  std::unordered_map<ls_unwind_rule, std::uint32_t, Hash, Equal> numbers_;
};

// The rule right after a call, when nothing has happened since: the link register still leads back.
inline constexpr ls_unwind_rule kLinkRegister = [] {
  ls_unwind_rule rule{};
  rule.cfa = LS_CFA_SP;
  rule.ra = LS_RA_REGISTER;
  rule.ra_offset = 30;
  return rule;
}();

// The rule if the stack has nothing of the function but its return address (x86-64).
inline constexpr ls_unwind_rule kOnlyReturnAddress = [] {
  ls_unwind_rule rule{};
  rule.cfa = LS_CFA_SP;
  rule.cfa_offset = 8;
  rule.ra = LS_RA_AT_CFA;
  rule.ra_offset = -8;
  return rule;
}();

}  // namespace labelscope
