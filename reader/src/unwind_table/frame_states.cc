// The problem: frame pointers alone leave out a caller.
//
//   main:            stp x29, x30, [sp, #-16]!      x29 --> frame record: where main returns
//                    mov x29, sp
//                    bl  clock_gettime              x30 = behind this call
//   clock_gettime:   ...                            x29 still --> frame record of main
//                    ret
//
// Code interrupted in clock_gettime, a leaf, has its caller in x30. An unwinder that follows x29
// comes to the caller of main, and main is missing. In a function that has called another one, x30
// may be anything, and x29 is right. The vDSO, JIT compilers and hand-written code have both kinds
// and no table.
//
// So the code is followed from each place where a function is known to start, with the state of
// what it has done so far:
//
//   kNothing  --touches sp, x29 or x30-->  kOther  --sets x29 from sp-->  kFrame
//                                             ^----- writes x29 ------------'
//
// An instruction to which two ways lead has the states of both. If these differ, nothing is
// assumed: a stack that ends early with a reason is worth more than one with a hole. A jump through
// a register from a function with a frame may lead anywhere: then nothing is known of all this
// code. From a function without a frame it leads out, or to where nothing has been done either.
//
// Instructions do not show where a function starts. Behind the end of another one there may be a
// part of it that a hidden jump leads to, or data.
#include "unwind_table/frame_states.h"

#include <optional>

#include "base/aarch64_words.h"

namespace labelscope {
namespace {

using a64::bits;
using a64::ThroughRegister;

constexpr unsigned kFp = 29;
constexpr unsigned kLink = 30;
constexpr unsigned kSpOrZero = 31;

// These are sets of what may have been done.
constexpr std::uint8_t kNothing = 1;
constexpr std::uint8_t kOther = 2;
constexpr std::uint8_t kFrame = 4;

constexpr std::uint32_t kMovFpSp = 0x910003fd;

bool is_call(std::uint32_t word) {
  return a64::is_direct_call(word) || a64::through_register(word) == ThroughRegister::kCall;
}

struct Writes {
  bool fp = false;
  bool link = false;
  bool sp = false;

  void general(unsigned number) {
    fp = fp || number == kFp;
    link = link || number == kLink;
  }
};

Writes written_by_immediate(std::uint32_t word) {
  Writes writes;
  writes.general(bits(word, 4, 0));
  const unsigned group = bits(word, 25, 23);
  const bool sp_form = group == 2 ? bits(word, 29, 29) == 0                       // add, sub
                                  : group == 3 ||                                 // addg, subg
                                        (group == 4 && bits(word, 30, 29) != 3);  // and, orr, eor
  writes.sp = sp_form && bits(word, 4, 0) == kSpOrZero;
  return writes;
}

// Stores count as loads, because they change fewer registers.
Writes written_by_memory(std::uint32_t word) {
  Writes writes;
  const bool vector = bits(word, 26, 26) == 1;
  const bool on_sp = bits(word, 9, 5) == kSpOrZero;
  const auto general = [&](unsigned number) {
    if (!vector) writes.general(number);
  };
  general(bits(word, 4, 0));
  switch (bits(word, 29, 27)) {
    case 5:  // pairs
      general(bits(word, 14, 10));
      writes.sp = on_sp && bits(word, 23, 23) == 1;
      break;
    case 7:  // one register
      writes.sp = on_sp && bits(word, 24, 24) == 0 && bits(word, 10, 10) == 1;
      break;
    case 1:  // exclusive, ordered, compare and swap; structures of vectors
      general(bits(word, 14, 10));
      general(bits(word, 20, 16));
      writes.sp = on_sp && vector && bits(word, 23, 23) == 1;
      break;
    default:  // literals; memory tags
      writes.sp = on_sp && bits(word, 31, 24) == 0xD9;
      break;
  }
  return writes;
}

Writes written_by(std::uint32_t word) {
  Writes writes;
  const unsigned target = bits(word, 4, 0);
  switch (bits(word, 28, 25)) {
    case 8:
    case 9:
      return written_by_immediate(word);
    case 4:
    case 6:
    case 12:
    case 14:
      return written_by_memory(word);
    case 10:
    case 11:  // branches and system instructions
      writes.link = is_call(word);
      if (bits(word, 31, 21) == 0x6A9) writes.general(target);  // mrs, sysl
      break;
    case 5:
    case 13:  // registers
      writes.general(target);
      // This is add and sub with an extended register.
      writes.sp = target == kSpOrZero && bits(word, 28, 24) == 0x0B && bits(word, 21, 21) == 1 &&
                  bits(word, 29, 29) == 0;
      break;
    case 7:
    case 15: {  // floating point and vectors, few of which write a general register
      const bool converts =
          bits(word, 30, 24) == 0x1E && (bits(word, 21, 21) == 0 || bits(word, 15, 10) == 0);
      const bool moves =
          bits(word, 28, 21) == 0x70 && (bits(word, 15, 10) == 0x0F || bits(word, 15, 10) == 0x0B);
      if (converts || moves) writes.general(target);
      break;
    }
    default:  // scalable vectors
      writes.general(target);
      writes.sp = target == kSpOrZero;
      break;
  }
  return writes;
}

// Returns whether this is add x29, sp, #n; mov x29, sp is the one with 0.
bool sets_frame_pointer(std::uint32_t word) { return (word & 0xffc003ff) == 0x910003fd; }

// Returns whether this is autiasp or autibsp, after which comes the return.
bool authenticates(std::uint32_t word) { return word == 0xd50323bf || word == 0xd50323ff; }

bool ends_flow_of_aarch64(std::uint32_t word) {
  const ThroughRegister kind = a64::through_register(word);
  return kind == ThroughRegister::kJump || kind == ThroughRegister::kReturn ||
         a64::is_plain_jump(word) || word >> 16 == 0 ||  // udf; zeros between functions
         bits(word, 31, 21) == 0x6A1;                    // brk
}

class Follower {
 public:
  Follower(std::span<const std::uint32_t> code, std::span<const std::size_t> starts)
      : code_(code), done_(code.size()), starts_(code.size()) {
    for (const std::size_t start : starts) {
      if (start >= code.size()) continue;
      starts_[start] = true;
      lead(start, kNothing);
    }
  }

  // Returns false if it cannot be known.
  bool follow() {
    while (!todo_.empty()) {
      const std::size_t at = todo_.back();
      todo_.pop_back();
      const std::uint32_t word = code_[at];
      const bool through = a64::through_register(word) == ThroughRegister::kJump;
      if (through && done_[at] != kNothing) return false;
      const std::uint8_t after = behind(word, done_[at]);
      // A function whose last instruction is a call does not go on in the next one.
      const bool last =
          ends_flow_of_aarch64(word) || (is_call(word) && at + 1 < code_.size() && starts_[at + 1]);
      if (!last) lead(at + 1, after);
      if (const auto target = target_of(at)) {
        lead(*target, a64::is_direct_call(word) ? kNothing : after);
      }
    }
    return true;
  }

  FrameState state(std::size_t at) const {
    const std::uint32_t word = code_[at];
    if (done_[at] == 0) return FrameState::kNotReached;
    if (done_[at] == kNothing) return FrameState::kNothingDone;
    const bool returns = a64::through_register(word) == ThroughRegister::kReturn &&
                         (bits(word, 9, 5) == kLink || bits(word, 11, 11) == 1);  // ret; retaa
    if (returns || authenticates(word)) return FrameState::kReturning;
    if (done_[at] == kFrame) return FrameState::kFramePointer;
    if (done_[at] == kOther && word == kMovFpSp) return FrameState::kSettingFrame;
    return FrameState::kUnknown;
  }

 private:
  std::optional<std::size_t> target_of(std::size_t at) const {
    const auto distance = a64::branch_distance(code_[at]);
    if (!distance) return std::nullopt;
    const std::int64_t target =
        static_cast<std::int64_t>(at) + *distance / std::int64_t{a64::kInstructionSize};
    if (target < 0 || target >= static_cast<std::int64_t>(code_.size())) return std::nullopt;
    return static_cast<std::size_t>(target);
  }

  static std::uint8_t behind(std::uint32_t word, std::uint8_t before) {
    if (sets_frame_pointer(word)) return kFrame;
    const Writes writes = written_by(word);
    std::uint8_t after = before & kOther;
    if (before & kNothing) after |= writes.fp || writes.link || writes.sp ? kOther : kNothing;
    if (before & kFrame) after |= writes.fp ? kOther : kFrame;
    return after;
  }

  void lead(std::size_t to, std::uint8_t state) {
    if (to >= code_.size() || (done_[to] | state) == done_[to]) return;
    done_[to] |= state;
    todo_.push_back(to);
  }

  std::span<const std::uint32_t> code_;
  std::vector<std::uint8_t> done_;
  std::vector<bool> starts_;
  std::vector<std::size_t> todo_;
};

}  // namespace

std::vector<FrameState> frame_states(std::span<const std::uint32_t> code,
                                     std::span<const std::size_t> starts) {
  Follower follower(code, starts);
  if (!follower.follow()) return {};
  std::vector<FrameState> states;
  states.reserve(code.size());
  for (std::size_t at = 0; at < code.size(); ++at) states.push_back(follower.state(at));
  return states;
}

}  // namespace labelscope
