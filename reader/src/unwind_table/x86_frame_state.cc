#include "unwind_table/x86_frame_state.h"

#include "unwind_table/frame_rules.h"

namespace labelscope::x86 {
namespace {

// No frame is larger, and sums of two do not overflow.
constexpr std::int32_t kMostFrame = 1 << 28;
constexpr std::int32_t kWord = 8;

std::int32_t plus(std::int32_t distance, std::int64_t amount) {
  if (distance == kUnknown || amount < -kMostFrame || amount > kMostFrame) return kUnknown;
  const auto sum = static_cast<std::int32_t>(distance + amount);
  return sum < -kMostFrame || sum > kMostFrame ? kUnknown : sum;
}

// The return address is no longer on the stack, so nothing leads to it.
void lose_frame(Frame& frame) {
  frame.depth = frame.frame = frame.copied = kUnknown;
  frame.copy = kNoRegister;
  frame.saved = 0;
}

void set_depth(Frame& frame, std::int32_t depth) {
  frame.depth = depth;
  if (depth != kUnknown && depth < kWord) return lose_frame(frame);
  // The next signal overwrites what lies below the stack pointer.
  if (frame.saved != 0 && depth != kUnknown && depth < frame.saved) frame.saved = 0;
}

// Returns where register `number` points, if it points into the frame.
std::int32_t points_to(const Frame& frame, std::uint8_t number) {
  if (number == kSp) return frame.depth;
  if (number == kBp) return frame.frame;
  return number == frame.copy ? frame.copied : kUnknown;
}

void forget(Frame& frame, std::uint8_t number) {
  if (number == frame.popped) frame.popped = kNoRegister;
  if (number == kBp) {
    frame.frame = kUnknown;
    frame.same = false;
  } else if (number == frame.copy) {
    frame.copy = kNoRegister;
    frame.copied = kUnknown;
  }
}

void set(Frame& frame, std::uint8_t number, std::int32_t distance) {
  if (number == kSp) return set_depth(frame, distance);
  forget(frame, number);
  if (number == kBp) {
    frame.frame = distance;
  } else if (distance != kUnknown) {
    frame.copy = number;
    frame.copied = distance;
  }
}

// Gives register `number` the value that lies `distance` below the CFA.
void restore(Frame& frame, std::uint8_t number, std::int32_t distance) {
  forget(frame, number);
  if (number == kBp) frame.same = frame.saved != 0 && distance == frame.saved;
}

// Returns true for rax, rcx, rdx, rsi, rdi, r8 to r11, which a function that is called may change.
bool is_lost_by_calls(std::uint8_t number) {
  return number < 3 || number == 6 || number == 7 || (number >= 8 && number <= 11);
}

}  // namespace

Frame join(const Frame& left, const Frame& right) {
  Frame both = left;
  if (left.depth != right.depth) both.depth = kUnknown;
  if (left.frame != right.frame) both.frame = kUnknown;
  if (left.saved != right.saved) both.saved = 0;
  both.same = left.same && right.same;
  both.likely = left.likely || right.likely;
  if (left.copy != right.copy || left.copied != right.copied) {
    both.copy = kNoRegister;
    both.copied = kUnknown;
  }
  if (left.popped != right.popped) both.popped = kNoRegister;
  return both;
}

Frame behind(const Instruction& done, Frame frame) {
  switch (done.effect) {
    case Effect::kNone:
      break;
    case Effect::kMoveStack:
      set_depth(frame, plus(frame.depth, -done.amount));
      return frame;
    case Effect::kPush:
      if (done.source != kNoRegister && done.source == frame.popped) {
        frame.popped = kNoRegister;
        frame.depth = kWord;
        return frame;
      }
      set_depth(frame, plus(frame.depth, kWord));
      if (done.source == kBp && frame.same && frame.saved == 0 && frame.depth != kUnknown) {
        frame.saved = frame.depth;
      }
      return frame;
    case Effect::kPop: {
      const std::int32_t from = frame.depth;
      if (done.written != kNoRegister) restore(frame, done.written, from);
      set_depth(frame, done.written == kSp ? kUnknown : plus(from, -kWord));
      if (from == kWord && done.written != kSp) frame.popped = done.written;
      return frame;
    }
    case Effect::kCopy:
      set(frame, done.written, plus(points_to(frame, done.source), -done.amount));
      return frame;
    case Effect::kStore:
      if (done.source == kBp && frame.same && frame.saved == 0 && frame.depth != kUnknown) {
        const std::int32_t at = plus(frame.depth, -done.amount);
        if (at > 0) frame.saved = at;  // kUnknown is below 0
      }
      return frame;
    case Effect::kLoad:
      restore(frame, done.written, plus(frame.depth, -done.amount));
      return frame;
    case Effect::kLeave: {
      const std::int32_t from = frame.frame;
      restore(frame, kBp, from);
      set_depth(frame, plus(from, -kWord));
      return frame;
    }
    case Effect::kLoseStack:
      set_depth(frame, kUnknown);
      break;
  }
  forget(frame, done.written);
  if (frame.copy != kNoRegister && done.also_written >> frame.copy & 1) {
    forget(frame, frame.copy);
  }
  if (frame.popped != kNoRegister && done.also_written >> frame.popped & 1) {
    forget(frame, frame.popped);
  }
  if (done.also_written >> kBp & 1) forget(frame, kBp);
  const bool calls = done.flow == Flow::kCall || done.flow == Flow::kIndirectCall;
  if (calls && is_lost_by_calls(frame.copy)) forget(frame, frame.copy);
  if (calls && is_lost_by_calls(frame.popped)) forget(frame, frame.popped);
  return frame;
}

ls_unwind_rule rule_of(const Frame& frame) {
  ls_unwind_rule rule{};
  if (frame.frame == 2 * kWord && frame.saved == 2 * kWord) return rule_of_kind(LS_CFA_GAP_FP);
  const int flags = frame.likely ? LS_BY_CODE | LS_ONLY_LIKELY : LS_BY_CODE;
  rule.operand = static_cast<std::int8_t>(flags);
  if (frame.depth >= kWord) {  // kUnknown is less
    rule.cfa = LS_CFA_SP;
    rule.cfa_offset = frame.depth;
  } else if (frame.frame != kUnknown) {
    rule.cfa = LS_CFA_FP;
    rule.cfa_offset = frame.frame;
  } else if (frame.copy != kNoRegister) {
    // DWARF has another order of rax to rdi.
    constexpr std::uint8_t kNumbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
    rule.cfa = LS_CFA_REGISTER;
    const int number = frame.copy < 8 ? kNumbers[frame.copy] : frame.copy;
    rule.operand = static_cast<std::int8_t>(number | flags);
    rule.cfa_offset = frame.copied;
  } else {
    return rule_of_kind(LS_CFA_GAP);
  }
  rule.ra = LS_RA_AT_CFA;
  rule.ra_offset = -kWord;
  rule.fp = frame.saved != 0 ? LS_FP_AT_CFA : frame.same ? LS_FP_SAME : LS_FP_LOST;
  if (rule.fp == LS_FP_AT_CFA) rule.fp_offset = -frame.saved;
  return rule;
}

}  // namespace labelscope::x86
