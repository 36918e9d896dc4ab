// The problem: frame pointers leave out the caller of a function that has no frame.
//
//   caller:       push %rbp; mov %rsp, %rbp         rbp --> frame record of caller
//                 call hash_block
//   hash_block:   mov $3000, %ecx                   [rsp] = where caller goes on
//                 ...                               rbp still --> frame record of caller
//                 ret
//
// An unwinder that follows rbp from hash_block comes to the caller of caller. And in code that uses
// rbp as any other register, it comes to a wrong place. But instructions show what call frame
// information would: from the start of a function, each is followed with what is known of the frame
// so far.
//
//   CFA        +----------------+
//              | return address |
//   -saved     | caller's rbp   |  <-- rbp = CFA - frame
//              | ...            |
//   -depth     +----------------+  <-- rsp
//
// An instruction to which two ways lead has what both have in common.
//
// V8's builtins take the return address from the stack, push arguments, and push it again: it is in
// a register meanwhile, and a new frame begins where it is pushed.
//
// Functions start at symbols and where calls lead. In a stripped file these are not all. Code
// behind a return or a jump to which nothing leads is a function too, or a case of a switch, to
// which the function before it jumps through a register. Then the stack is as at that jump. If it
// may be either, and the two differ, nothing is assumed: a stack that ends early with a reason is
// worth more than one with a hole.
//
// If compilers align functions, code at other places is not a function: it is reached by exceptions
// alone, or never.
//
// The next function may be behind a call that does not return, which compilers know. If padding
// follows a call, behind it is the next function, or the head of a loop, to which something jumps
// back. If not all functions are known, that may be either, and then the same holds.
#include "unwind_table/x86_frames.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "unwind_table/frame_rules.h"
#include "unwind_table/x86_frame_state.h"
#include "unwind_table/x86_instruction.h"

namespace labelscope {
namespace {

using namespace std::string_view_literals;
using x86::Flow;
using x86::Frame;
using x86::Instruction;

// The alignment of functions; code in front of one is filled up to it.
constexpr std::uint64_t kX86Align = 16;
constexpr std::size_t kMostPadding = 64;
// Jumps through registers are looked at this often, at most: a function of a hostile file may be
// nothing but jumps.
constexpr std::size_t kMostJumps = 8 << 20;
// Code that nothing leads to is decoded once more to find its end, and each head of a loop to find
// the jump back. A hostile gap has many such places, from each of which all of it would be decoded.
// Beyond so many instructions for each of its bytes nothing is assumed of the rest.
constexpr std::size_t kMostDecodedOfByte = 32;
// If nine of ten of at least so many functions are aligned, all are, except parts of others.
constexpr std::size_t kFewStarts = 8;

bool ends_flow(Flow flow) {
  return flow == Flow::kJump || flow == Flow::kIndirectJump || flow == Flow::kReturn ||
         flow == Flow::kStop;
}

bool begins_with_frame(std::string_view code) {
  if (code.starts_with("\xf3\x0f\x1e\xfa"sv)) return true;  // endbr64
  return code.starts_with("\x55\x48\x89\xe5"sv) || code.starts_with("\x55\x48\x8b\xec"sv);
}

class X86Follower {
 public:
  explicit X86Follower(const X86Code& code) : code_(code) {}

  std::vector<CodePart> follow() {
    const auto first = std::ranges::lower_bound(code_.functions, code_.address);
    for (auto function = first; function != code_.functions.end(); ++function) {
      if (*function - code_.address >= code_.bytes.size()) break;
      starts_.push_back(*function - code_.address);
    }
    begin();
    run();
    // Targets of calls are known now, and code before such a place does not go on in it.
    begin();
    run();
    look_between();
    return parts();
  }

 private:
  static constexpr std::uint32_t kNotReached = 0;

  void begin() {
    std::sort(starts_.begin(), starts_.end());
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    sorted_starts_ = starts_.size();
    const auto aligned = std::ranges::count_if(starts_, [&](auto at) { return is_aligned(at); });
    const bool most_are = static_cast<std::size_t>(aligned) * 10 >= sorted_starts_ * 9;
    may_stand_anywhere_ = !code_.all_known && (!most_are || sorted_starts_ < kFewStarts);
    state_of_.assign(code_.bytes.size(), kNotReached);
    states_.assign(1, Frame{});
    jumps_.clear();
    last_calls_.clear();
    for (std::size_t i = 0; i < sorted_starts_; ++i) lead(starts_[i], {});
  }

  bool is_start(std::size_t at) const {
    return std::binary_search(starts_.begin(),
                              starts_.begin() + static_cast<std::ptrdiff_t>(sorted_starts_), at);
  }

  void lead(std::size_t to, const Frame& frame) {
    if (to >= state_of_.size()) return;
    std::uint32_t& number = state_of_[to];
    if (number == kNotReached) {
      number = static_cast<std::uint32_t>(states_.size());
      states_.push_back(frame);
    } else {
      const Frame both = join(states_[number], frame);
      if (both == states_[number]) return;
      states_[number] = both;
    }
    todo_.push_back(to);
  }

  // A function that is known to start there is always reached as at its start.
  void flow(std::size_t to, const Frame& frame) {
    if (!is_start(to)) lead(to, frame);
  }

  void run() {
    while (!todo_.empty()) {
      const std::size_t at = todo_.back();
      todo_.pop_back();
      step(at);
    }
  }

  void step(std::size_t at) {
    const Instruction now = x86::decode(code_.bytes.substr(at));
    if (now.size == 0) return;
    const Frame after = behind(now, states_[state_of_[at]]);
    const std::size_t next = at + now.size;
    if (now.flow == Flow::kBranch || now.flow == Flow::kJump || now.flow == Flow::kCall) {
      const std::int64_t target = static_cast<std::int64_t>(next) + now.distance;
      if (target >= 0 && target < static_cast<std::int64_t>(state_of_.size())) {
        const auto to = static_cast<std::size_t>(target);
        now.flow == Flow::kCall ? call(to) : flow(to, after);
      }
    } else if (now.flow == Flow::kIndirectJump) {
      jumps_.insert(at);
    }
    if (ends_flow(now.flow)) return;
    const bool calls = now.flow == Flow::kCall || now.flow == Flow::kIndirectCall;
    if (calls && may_end_function(next)) {
      last_calls_.emplace(behind_padding(next), at);
    } else {
      flow(next, after);
    }
  }

  void call(std::size_t to) {
    starts_.push_back(to);
    if (state_of_[to] == kNotReached) lead(to, {});
  }

  // Returns the frame behind the instruction there.
  Frame left_by(std::size_t at) const {
    return behind(x86::decode(rest(at)), states_[state_of_[at]]);
  }

  std::size_t behind_padding(std::size_t at) const {
    const std::size_t end = std::min(at + kMostPadding, code_.bytes.size());
    while (at < end) {
      const std::size_t size = x86::padding(rest(at));
      if (size == 0) break;
      at += size;
    }
    return std::min(at, code_.bytes.size());
  }

  bool is_aligned(std::size_t at) const { return (code_.address + at) % kX86Align == 0; }

  // Returns whether the call whose instruction ends at `next` may not return.
  bool may_end_function(std::size_t next) const {
    const std::size_t after = behind_padding(next);
    if (is_start(after)) return true;
    return !code_.all_known && is_aligned(after) &&
           (after != next || begins_with_frame(rest(next)));
  }

  std::string_view rest(std::size_t at) const { return code_.bytes.substr(at); }

  // ---- what nothing leads to

  void look_between() {
    std::size_t function = 0;  // where the last known function starts
    bool is_first = !code_.is_cut;
    auto other = code_.others.begin();
    for (std::size_t at = 0; at < code_.bytes.size();) {
      while (other != code_.others.end() && other->end <= code_.address + at) ++other;
      if (other != code_.others.end() && other->start <= code_.address + at) {
        at = static_cast<std::size_t>(other->end - code_.address);
        function = at;
        is_first = true;
        continue;
      }
      if (is_start(at)) function = at;
      if (state_of_[at] != kNotReached) {
        at += std::max<std::size_t>(x86::decode(rest(at)).size, 1);
        is_first = false;
        continue;
      }
      const std::size_t behind = behind_padding(at);
      const bool padded = behind != at;
      at = behind;
      if (at >= code_.bytes.size()) break;
      if (state_of_[at] != kNotReached) continue;
      const FlowEnd flow = end_of_flow(at);
      const auto frame =
          flow.end == at ? std::nullopt : frame_of_unreached(at, function, is_first || padded);
      if (frame) {
        if (is_first || (padded && *frame == Frame{})) function = at;
        Frame likely = *frame;
        likely.likely = true;
        lead(at, likely);
        run();
      } else {
        // Bytes that lead to something undecodable are passed once, not from each of them again.
        at = flow.end == at ? flow.undecodable + 1 : flow.end;
      }
      is_first = false;
    }
  }

  // Returns the frame of instructions that nothing has led to, if it is known.
  std::optional<Frame> frame_of_unreached(std::size_t at, std::size_t function, bool may_start) {
    if (begins_with_frame(rest(at)) && !code_.all_known) return Frame{};
    std::optional<Frame> frame;
    bool contradicts = false;
    const auto add = [&](const Frame& one) {
      Frame same = one;
      same.likely = false;
      if (!frame) frame = same;
      contradicts = contradicts || *frame != same;
    };
    const auto jumps_end = jumps_.lower_bound(at);
    for (auto jump = jumps_.lower_bound(function); jump != jumps_end && !contradicts; ++jump) {
      if (++jumps_looked_at_ > kMostJumps) return std::nullopt;
      add(left_by(*jump));
    }
    const auto [calls, calls_end] = last_calls_.equal_range(at);
    const bool is_behind_call = calls != calls_end;
    if (is_behind_call && is_head_of_loop(at)) {
      for (auto call = calls; call != calls_end; ++call) add(left_by(call->second));
    }
    const bool may_be_start = (may_start || is_behind_call) && is_aligned(at);
    if (may_be_start ? !code_.all_known || !frame : !frame && may_stand_anywhere_) add({});
    return contradicts || has_looked_enough() ? std::nullopt : frame;
  }

  bool has_looked_enough() const {
    return looked_ahead_ / kMostDecodedOfByte >= code_.bytes.size();
  }

  // Decodes what lies ahead. There is no instruction if too many were decoded before.
  Instruction look_ahead(std::size_t at) {
    if (has_looked_enough()) return {};
    ++looked_ahead_;
    return x86::decode(rest(at));
  }

  // Returns whether something jumps back to it.
  bool is_head_of_loop(std::size_t at) {
    constexpr std::size_t kMostLooked = 4096;
    const std::size_t end = std::min(at + kMostLooked, code_.bytes.size());
    for (std::size_t here = at; here < end;) {
      const Instruction next = look_ahead(here);
      if (next.size == 0) break;
      here += next.size;
      const bool jumps = next.flow == Flow::kBranch || next.flow == Flow::kJump;
      if (jumps && static_cast<std::int64_t>(here - at) == -std::int64_t{next.distance})
        return true;
    }
    return false;
  }

  struct FlowEnd {
    std::size_t end;          // where it began if these are no instructions
    std::size_t undecodable;  // then the place that is none
  };
  // Returns where the instructions from here on end.
  FlowEnd end_of_flow(std::size_t at) {
    std::size_t to = at;
    while (to < code_.bytes.size() && state_of_[to] == kNotReached) {
      const Instruction next = look_ahead(to);
      if (next.size == 0) return {at, to};
      to += next.size;
      if (ends_flow(next.flow)) break;
    }
    return {to, to};
  }

  std::vector<CodePart> parts() const {
    std::vector<CodePart> parts;
    const auto add = [&](std::size_t at, const ls_unwind_rule& rule) {
      if (!parts.empty() && same_rule(parts.back().rule, rule)) return;
      // Code before the first part is padding.
      parts.push_back({parts.empty() ? code_.address : code_.address + at, rule});
    };
    for (std::size_t at = 0; at < code_.bytes.size();) {
      const bool reached = state_of_[at] != kNotReached;
      const std::size_t size = reached ? x86::decode(rest(at)).size : x86::padding(rest(at));
      if (reached) {
        add(at, rule_of(states_[state_of_[at]]));
      } else if (size == 0) {
        add(at, rule_of_kind(LS_CFA_GAP));
      }
      at += std::max<std::size_t>(size, 1);
    }
    if (parts.empty()) parts.push_back({code_.address, rule_of_kind(LS_CFA_GAP)});
    return parts;
  }

  const X86Code& code_;
  std::vector<std::size_t> starts_;
  std::size_t sorted_starts_ = 0;
  // true if functions may start at other places than multiples of kX86Align
  bool may_stand_anywhere_ = false;
  std::vector<std::uint32_t> state_of_;  // the state at each byte at which an instruction starts
  std::vector<Frame> states_;
  std::vector<std::size_t> todo_;
  std::set<std::size_t> jumps_;  // jumps through registers
  std::size_t jumps_looked_at_ = 0;
  std::size_t looked_ahead_ = 0;  // instructions
  // Calls that may be the last instruction of their function, by the place behind them and padding.
  std::multimap<std::size_t, std::size_t> last_calls_;
};

}  // namespace

std::vector<CodePart> x86_frames(const X86Code& code) { return X86Follower(code).follow(); }

}  // namespace labelscope
