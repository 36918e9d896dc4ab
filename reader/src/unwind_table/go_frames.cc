// A depth is the distance from the stack pointer to the CFA, which leads to the return address:
//
//   x86-64                                     aarch64
//   CFA      +------------------+              CFA      +------------------+
//            | return address   |                       | of this function |
//   -16      | frame pointer    |                       |                  |
//            | of this function |   depth + 8           |                  |   depth
//   sp       +------------------+              sp       | return address   |
//                                                       +------------------+
//                                                       | frame pointer    |
//
// The depth does not show where the frame pointer is. The caller's value is needed again where C
// code or code that changes stacks follows. So it counts as known only if instructions save it
// visibly, and if a compiled function has no frame at all. Otherwise it is lost until some function
// restores it: the stack does not end there, because Go's functions are found by depths alone.
//
// Some functions go to another stack, where depths mean nothing (the linker marks them as writing
// the stack pointer):
//
//   with a frame        cgocallback(), and those that call the vDSO. The frame pointer stays, and
//                       leads back: such a function is followed by it.
//   mcall()             leaves its goroutine for good, and goes on with the scheduler. There the
//                       stack is deeper by one word, or two.
//   systemstack()       morestack(), asmcgocall(): they have no frame, and only the runtime's data
//                       shows where their caller is. On x86-64 the frame pointer is still that of
//                       the caller, and leaves it out. The stack goes on, and does not count as
//                       whole. On aarch64 they replace it, and the stack ends.
//
// Functions without a caller are marked as well: threads, goroutines and the program start in them.
// But the function that the kernel calls for a signal is marked in the same way, and that stack
// goes on.
#include "unwind_table/go_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/aarch64_words.h"
#include "unwind_table/frame_rules.h"
#include "unwind_table/undescribed_code.h"

namespace labelscope {
namespace {

using namespace std::string_view_literals;

// Where a function begins to have a frame.
struct FrameStart {
  bool has_return = true;   // aarch64: the function visibly saves the return address
  std::uint64_t saved = 0;  // from there on, the caller's frame pointer is saved in its place
  std::uint64_t set = 0;    // from there on, the function has its own; 0 if that was not found
};

// Behind a function, code is filled up to a multiple of this.
constexpr std::uint64_t kGoAlign = 64;

class GoFrames {
 public:
  GoFrames(const GoFunctions& functions, const LoadedFile& file, Machine machine,
           std::uint64_t entry)
      : functions_(functions), file_(file), x86_(machine == Machine::kX86_64), entry_(entry) {
    // Bytes alone show where threads begin, and where signal handlers return to.
    const UndescribedCode all{functions.start(), functions.end()};
    const auto parts = look_at_undescribed_code(file, machine, all);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].rule.cfa != LS_CFA_ENTRY && parts[i].rule.cfa != LS_CFA_SIGNAL) continue;
      const std::uint64_t end = i + 1 < parts.size() ? parts[i + 1].start : functions.end();
      marks_.push_back({parts[i].start, end, parts[i].rule});
    }
    next_mark_ = marks_.begin();
  }

  std::vector<CodePart> make(std::size_t max_parts) {
    for (std::size_t i = 0; i < functions_.count() && parts_.size() < max_parts; ++i) {
      if (const auto function = functions_.at(i)) add(*function);
    }
    add_until(functions_.end(), rule_of_kind(LS_CFA_GAP));
    return std::move(parts_);
  }

 private:
  struct Mark {
    std::uint64_t start;
    std::uint64_t end;
    ls_unwind_rule rule;
  };

  void add(const GoFunction& function) {
    // Functions that are not in order describe nothing.
    if (function.start < at_) return;
    add_until(function.start, rule_of_kind(LS_CFA_GAP));
    const bool is_program = entry_ >= function.start && entry_ < function.end;
    const bool from_kernel = function.name.starts_with("runtime.sig");
    const bool is_start = function.name.starts_with("_rt0_") && !function.name.ends_with("_lib");
    if (is_program || is_start || (function.is_first && !from_kernel)) {
      return add_until(function.end, rule_of_kind(LS_CFA_ENTRY));
    }
    const auto depths = functions_.depths_of(function);
    read_code(function);
    const FrameStart frame = x86_ ? find_x86_frame(depths) : find_arm_frame(depths);
    for (const GoDepth& depth : depths) {
      if (function.sets_stack) {
        add_changing(function, depth, frame);
      } else {
        add_depth(function, depth, frame);
      }
    }
    // Padding belongs to what is before it, which saves a row. A damaged table ends earlier.
    const bool same = !depths.empty() && is_padding(at_, function.end);
    add_until(function.end, same ? parts_.back().rule : rule_of_kind(LS_CFA_GAP));
  }

  void add_depth(const GoFunction& function, const GoDepth& depth, const FrameStart& frame) {
    if (depth.depth == 0) {
      // Calls change x30. If a frame visibly keeps it, this is before or behind that frame.
      if (!x86_ && function.is_handwritten && frame.saved == 0 && has_calls()) {
        return add_until(depth.end, rule_of_kind(LS_CFA_GAP));
      }
      const bool kept = !function.is_handwritten || frame.saved != 0;
      return add_until(depth.end, rule_of(0, kept ? LS_FP_SAME : LS_FP_LOST));
    }
    // Handwritten code may save the return address anywhere.
    if (function.is_handwritten && !frame.has_return) {
      return add_until(depth.end, rule_of_kind(LS_CFA_GAP));
    }
    const std::uint64_t saved =
        frame.saved == 0 ? depth.end : std::clamp(frame.saved, depth.start, depth.end);
    add_until(saved, rule_of(depth.depth, frame.saved == 0 ? LS_FP_LOST : LS_FP_SAME));
    add_until(depth.end, rule_of(depth.depth, LS_FP_AT_CFA));
  }

  void add_changing(const GoFunction& function, const GoDepth& depth, const FrameStart& frame) {
    constexpr std::array kSwitches = {"runtime.systemstack"sv, "runtime.morestack"sv,
                                      "runtime.asmcgocall"sv, "runtime.mcall"sv};
    const bool switches = std::ranges::count(kSwitches, function.name) != 0;
    if (function.name == "runtime.mcall" && depth.depth != 0) {
      add_until(depth.end, rule_of_kind(LS_CFA_ENTRY));
    } else if (switches && x86_ && frame.set == 0) {
      ls_unwind_rule rule = rule_of_kind(LS_CFA_GAP_FP);
      rule.operand = LS_FP_LEAVES_OUT;
      add_until(depth.end, rule);
    } else if (frame.set == 0 || (switches && !x86_)) {
      add_until(depth.end, rule_of_kind(LS_CFA_GAP));
    } else if (depth.depth == 0) {
      add_depth(function, depth, frame);
    } else {
      const std::uint64_t set = std::clamp(frame.set, depth.start, depth.end);
      add_depth(function, {depth.start, set, depth.depth}, frame);
      add_until(depth.end, rule_of_kind(LS_CFA_GAP_FP));
    }
  }

  ls_unwind_rule rule_of(std::int32_t depth, ls_fp_kind fp) const {
    ls_unwind_rule rule{};
    rule.cfa = LS_CFA_SP;
    rule.cfa_offset = x86_ ? depth + 8 : depth;
    if (!x86_ && depth == 0) {
      rule.ra = LS_RA_REGISTER;
      rule.ra_offset = 30;
    } else {
      rule.ra = LS_RA_AT_CFA;
      rule.ra_offset = x86_ ? -8 : -depth;
    }
    rule.fp = fp;
    if (fp == LS_FP_AT_CFA) rule.fp_offset = x86_ ? -16 : -depth - 8;
    return rule;
  }

  // A table also ends where a function has taken its return address from the stack.
  bool is_padding(std::uint64_t start, std::uint64_t end) const {
    std::array<char, kGoAlign> bytes;
    if (end - start >= bytes.size()) return false;
    const std::span padding = std::span(bytes).first(static_cast<std::size_t>(end - start));
    return file_.read(start, std::as_writable_bytes(padding)) &&
           is_only_padding({padding.data(), padding.size()},
                           x86_ ? Machine::kX86_64 : Machine::kAarch64);
  }

  void read_code(const GoFunction& function) {
    // A frame is made right behind the check of the stack's size, so only the first bytes are read.
    constexpr std::uint64_t kMost = 4096;
    code_start_ = function.start;
    code_.assign(std::min(function.end - function.start, kMost), '\0');
    if (!file_.read(code_start_, std::as_writable_bytes(std::span(code_)))) code_.clear();
  }

  std::string_view code_at(std::uint64_t address) const {
    const std::string_view code(code_.data(), code_.size());
    const std::uint64_t offset = address - code_start_;
    return offset < code.size() ? code.substr(offset) : std::string_view();
  }

  // The instructions are mov %rbp, n(%rsp) and lea n(%rsp), %rbp, where n leads to CFA - 16; or
  // push %rbp and mov %rsp, %rbp (Go 1.21).
  FrameStart find_x86_frame(const std::vector<GoDepth>& depths) const {
    const auto first = std::ranges::find_if(depths, [](const GoDepth& d) { return d.depth != 0; });
    if (first == depths.end()) return {};
    const std::string_view code = code_at(first->start);
    if (first->depth == 8) {
      // The frame may begin behind what was read, and the function outside of the file.
      const std::string_view push = code_at(first->start - 1);
      if (first->start == code_start_ || !push.starts_with('\x55')) return {};
      const bool sets = code.starts_with("\x48\x89\xe5"sv) || code.starts_with("\x48\x8b\xec"sv);
      return {true, first->start, sets ? first->start + 3 : 0};
    }
    const auto offset = static_cast<std::int32_t>(first->depth - 8);
    const bool small = offset < 128;
    const std::size_t size = small ? 5 : 8;
    const auto has = [&](std::string_view bytes, std::string_view short_form,
                         std::string_view long_form) {
      if (bytes.size() < size || !bytes.starts_with(small ? short_form : long_form)) return false;
      std::int32_t operand = 0;
      std::memcpy(&operand, bytes.data() + 4, small ? 1 : 4);
      return operand == offset;
    };
    if (!has(code, "\x48\x89\x6c\x24"sv, "\x48\x89\xac\x24"sv)) return {};
    const bool sets = has(code.substr(size), "\x48\x8d\x6c\x24"sv, "\x48\x8d\xac\x24"sv);
    return {true, first->start + size, sets ? first->start + 2 * size : 0};
  }

  // A small frame is made by str x30, [sp, #-n]!; stur x29, [sp, #-8]; sub x29, sp, #8. A large one
  // is made by stp x29, x30, [x20, #-8]; mov sp, x20; sub x29, sp, #8.
  FrameStart find_arm_frame(const std::vector<GoDepth>& depths) const {
    constexpr std::uint32_t kPush = 0xf8000ffe;  // and -n in bits 20 to 12
    constexpr std::uint32_t kStore = 0xf81f83fd;
    constexpr std::uint32_t kStorePair = 0xa93ffa9d;
    constexpr std::uint32_t kMove = 0x9100029f;
    constexpr std::uint32_t kSet = 0xd10023fd;
    const auto first = std::ranges::find_if(depths, [](const GoDepth& d) { return d.depth != 0; });
    if (first == depths.end()) return {};
    FrameStart frame;
    const std::uint32_t last = word_before(first->start, 1);
    const bool small =
        (last & ~0x1ff000U) == kPush && a64::signed_bits(last, 20, 12) == -first->depth;
    const bool large = last == kMove && word_before(first->start, 2) == kStorePair;
    frame.has_return = small || large;
    if (large) frame.saved = first->start;
    if (small && word_at(first->start) == kStore)
      frame.saved = first->start + a64::kInstructionSize;
    if (frame.saved != 0 && word_at(frame.saved) == kSet) {
      frame.set = frame.saved + a64::kInstructionSize;
    }
    return frame;
  }

  std::uint32_t word_before(std::uint64_t address, std::uint64_t words) const {
    const std::uint64_t bytes = words * a64::kInstructionSize;
    return address - code_start_ < bytes ? 0 : word_at(address - bytes);
  }

  std::uint32_t word_at(std::uint64_t address) const {
    std::uint32_t word = 0;
    const std::string_view code = code_at(address);
    if (code.size() >= sizeof word) std::memcpy(&word, code.data(), sizeof word);
    return word;
  }

  // Returns whether the function has bl or blr (aarch64). Then x30 does not lead back throughout.
  bool has_calls() const {
    for (std::size_t i = 0; i + sizeof(std::uint32_t) <= code_.size(); i += sizeof(std::uint32_t)) {
      const std::uint32_t word = word_at(code_start_ + i);
      if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000) return true;
    }
    return false;
  }

  // Adds a part from where the part before ends.
  void add_until(std::uint64_t end, const ls_unwind_rule& rule) {
    for (; next_mark_ != marks_.end() && next_mark_->start < end && at_ < end;) {
      put(next_mark_->start, rule);
      put(std::min(end, next_mark_->end), next_mark_->rule);
      if (next_mark_->end > end) return;
      ++next_mark_;
    }
    put(end, rule);
  }

  void put(std::uint64_t end, const ls_unwind_rule& rule) {
    if (end <= at_) return;
    if (parts_.empty() || !same_rule(parts_.back().rule, rule)) {
      parts_.push_back({at_, rule});
    }
    at_ = end;
  }

  const GoFunctions& functions_;
  const LoadedFile& file_;
  bool x86_;
  std::uint64_t entry_;
  std::vector<Mark> marks_;
  std::vector<Mark>::const_iterator next_mark_;
  std::vector<char> code_;  // the code of the function, as far as it is looked at
  std::uint64_t code_start_ = 0;
  std::uint64_t at_ = functions_.start();
  std::vector<CodePart> parts_;
};

}  // namespace

Result<std::vector<CodePart>> go_frames(const GoFunctions& functions, const LoadedFile& file,
                                        Machine machine, std::uint64_t entry,
                                        const CodeLimits& limits) {
  const Error too_many{ErrorCode::kLimit, "its Go functions need more rows than a table may have"};
  auto parts = GoFrames(functions, file, machine, entry).make(limits.parts);
  if (!fits(parts, limits)) return too_many;
  return parts;
}

}  // namespace labelscope
