// Bytes show these things:
//
//   padding        linkers and compilers fill up to the next function; it is never executed
//   frame states   functions are followed by their instructions, from where they start
//                  (x86_frames.h, frame_states.h). A function without a frame has its caller at the
//                  top of the stack or in x30, and frame pointers would leave that out.
//   frame pointer  a function that begins with "save the frame pointer, set it" keeps it. Whole
//                  files of such code have no call frame information (Chromium).
//   entry          the first code of a program, which has no caller
//   thread starts  threads, fibers and goroutines have none either (thread_starts.h)
//   bare call      a function of nothing but a call and a return. Go's threads begin with one. It
//                  keeps no frame pointer: what the register has is that of the thread's parent.
//   signal return  libcs do not always describe where a signal handler returns to (musl never does)
//   PLT            only GNU ld describes it, and only on x86-64 (plt_code.h)
//
// Frame pointers are believed for a gap as a whole: where it is too large to be followed, and on
// aarch64 where no function is known to start. A gap is what lies between two functions that are
// described, so next to Chromium's 200 MB there are small ones, of hand-written code. Each is
// judged for itself.
#include "unwind_table/undescribed_code.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/aarch64_words.h"
#include "unwind_table/frame_rules.h"
#include "unwind_table/frame_states.h"
#include "unwind_table/plt_code.h"
#include "unwind_table/thread_starts.h"
#include "unwind_table/x86_frames.h"
#include "unwind_table/x86_instruction.h"

namespace labelscope {
namespace {

using namespace std::string_view_literals;

// Gaps are read in pieces of this size. Compilers put what is rarely executed at the start of all
// code, from where it jumps back: in one piece, both are followed.
constexpr std::uint64_t kPiece = 4 << 20;
// Larger ones are not followed, instruction by instruction: V8's builtins have 2 MB, and with some
// linkers data of any size lies in the segment of the code.
constexpr std::uint64_t kMostFollowed = 2 << 20;
// So that no code that is looked for lies across two pieces.
constexpr std::uint64_t kOverlap = 32;
// Longer sequences of such instructions are code. (Large pages may be filled up to 2 MiB; as a gap
// that does no harm.)
// The entry is the first code of a program, up to its only call, which does not return. glibc's and
// musl's have 40 bytes.
constexpr std::uint64_t kEntryBytes = 64;

struct Signs {
  std::vector<std::string_view> prologues;
  std::string_view signal_return;
  std::size_t plt_align;
  bool has_bare_calls;
};

const Signs& signs_of(Machine machine) {
  // These are push %rbp; mov %rsp, %rbp in both encodings, and for Go before 1.21: lea n(%rsp),
  // %rbp.
  static const Signs x86{{"\x55\x48\x89\xe5"sv, "\x55\x48\x8b\xec"sv, "\x48\x8d\x6c\x24"sv},
                         // This is mov $15, %rax; syscall.
                         "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"sv,
                         8,
                         true};
  // These are mov x29, sp, and for Go: sub x29, sp, #8.
  static const Signs arm{{"\xfd\x03\x00\x91"sv, "\xfd\x23\x00\xd1"sv},
                         // This is mov x8, #139; svc #0.
                         "\x68\x11\x80\xd2\x01\0\0\xd4"sv,
                         4,
                         false};
  return machine == Machine::kX86_64 ? x86 : arm;
}

bool is_padding(std::string_view code, Machine machine) {
  if (machine == Machine::kAarch64) {
    if (code.size() % 4 != 0) return false;
    for (std::size_t i = 0; i < code.size(); i += 4) {
      const std::string_view word = code.substr(i, 4);
      if (word != "\x1f\x20\x03\xd5"sv && word != "\0\0\0\0"sv) return false;
    }
    return true;
  }
  while (!code.empty()) {
    const std::size_t size = x86::padding(code);
    // The description of what a signal handler returns to begins one byte before it (glibc).
    if (size == code.size() + 1) return true;
    if (size == 0 || size > code.size()) return false;
    code.remove_prefix(size);
  }
  return true;
}

ls_unwind_rule rule_of_state(FrameState state, const ls_unwind_rule& not_reached) {
  switch (state) {
    case FrameState::kNotReached:
      return not_reached;
    case FrameState::kNothingDone:
    case FrameState::kReturning: {
      ls_unwind_rule rule = kLinkRegister;
      rule.operand = LS_BY_CODE;
      return rule;
    }
    case FrameState::kFramePointer:
    case FrameState::kSettingFrame:
      return rule_of_kind(LS_CFA_GAP_FP);
    case FrameState::kUnknown:
      break;
  }
  return rule_of_kind(LS_CFA_GAP);
}

class Gap {
 public:
  Gap(Machine machine, std::uint64_t start, std::uint64_t end)
      : machine_(machine), signs_(signs_of(machine)), start_(start), end_(end) {}

  void look(const LoadedFile& file, std::string_view code, std::uint64_t address) {
    for (std::string_view prologue : signs_.prologues) {
      frame_pointers_ = frame_pointers_ || code.find(prologue) != std::string_view::npos;
    }
    for_each(code, signs_.signal_return, [&](std::size_t at) {
      // The address to which a handler returns is looked up one byte before. Behind the code is the
      // pc while the kernel is in that system call.
      mark(address + at - 1, address + at + signs_.signal_return.size() + 1, LS_CFA_SIGNAL);
    });
    find_thread_starts(file, machine_, code, address,
                       [&](auto start, auto end, const auto& rule) { mark(start, end, rule); });
    look_for_plt(code, address);
    if (signs_.has_bare_calls) look_for_bare_calls(code, address);
  }

  // Of x86-64: a piece, those before it first.
  void follow_x86(std::string_view code, std::uint64_t address, const KnownFunctions& functions) {
    const std::vector<CodeRange> others = marked();
    const X86Code piece{code, address, functions.starts, functions.all, others, address != start_};
    for (const CodePart& part : x86_frames(piece)) {
      const bool same = !unmarked_.empty() && same_rule(unmarked_.back().rule, part.rule);
      if (!same) unmarked_.push_back(part);
    }
  }

  // Of aarch64: `code` is the whole gap.
  void follow_arm(std::string_view code, std::span<const std::uint64_t> functions) {
    std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), code.data(), words.size() * sizeof(std::uint32_t));
    std::vector<std::size_t> starts;
    for (auto function = std::ranges::lower_bound(functions, start_);
         function != functions.end() && *function < end_; ++function) {
      starts.push_back((*function - start_) / a64::kInstructionSize);
    }
    const ls_unwind_rule not_reached = rest();
    std::optional<FrameState> last;
    std::uint64_t address = start_;
    for (const FrameState state : frame_states(words, starts)) {
      if (state != last) unmarked_.push_back({address, rule_of_state(state, not_reached)});
      last = state;
      address += a64::kInstructionSize;
    }
  }

  // Forgets what was followed if the file's table has no room for it.
  void limit_followed(const CodeLimits& limits) {
    if (!fits(unmarked_, limits)) unmarked_.clear();
  }

  void mark(std::uint64_t start, std::uint64_t end, ls_cfa_kind kind) {
    mark(start, end, rule_of_kind(kind));
  }

  // Returns what holds where nothing else is known.
  ls_unwind_rule rest() const { return rule_of_kind(frame_pointers_ ? LS_CFA_GAP_FP : LS_CFA_GAP); }

  std::vector<CodePart> parts() {
    std::sort(marks_.begin(), marks_.end(),
              [](const Mark& left, const Mark& right) { return left.start < right.start; });
    if (unmarked_.empty() || unmarked_.front().start > start_) {
      unmarked_.insert(unmarked_.begin(), {start_, rest()});
    }
    std::vector<CodePart> parts;
    std::uint64_t at = start_;
    for (const Mark& mark : marks_) {
      if (!parts.empty() && mark.start < at) continue;  // the same mark, found in two pieces
      add_unmarked(parts, at, mark.start);
      parts.push_back({mark.start, mark.rule});
      at = mark.end;
    }
    add_unmarked(parts, at, end_);
    return parts;
  }

 private:
  struct Mark {
    std::uint64_t start;
    std::uint64_t end;
    ls_unwind_rule rule;
  };
  // This bounds a hostile file that is nothing but returns from signal handlers.
  static constexpr std::size_t kMostMarks = 1024;

  void add_unmarked(std::vector<CodePart>& parts, std::uint64_t start, std::uint64_t end) const {
    if (start >= end) return;
    auto next = std::upper_bound(
        unmarked_.begin(), unmarked_.end(), start,
        [](std::uint64_t wanted, const CodePart& part) { return wanted < part.start; });
    parts.push_back({start, std::prev(next)->rule});
    for (; next != unmarked_.end() && next->start < end; ++next) parts.push_back(*next);
  }

  template <class Use>
  static void for_each(std::string_view code, std::string_view wanted, Use use) {
    std::size_t at = 0;
    while ((at = code.find(wanted, at)) != std::string_view::npos) {
      use(at);
      at += wanted.size();
    }
  }

  // Entries are next to each other.
  void look_for_plt(std::string_view code, std::uint64_t address) {
    for (std::size_t at = (0 - address) % signs_.plt_align; at < code.size();) {
      const PltEntry entry = find_plt_entry(code.substr(at), address + at, machine_);
      if (entry.size != 0) mark(address + at, address + at + entry.size, entry.rule);
      at += std::max(entry.size & ~(signs_.plt_align - 1), signs_.plt_align);
    }
  }

  // A bare call is between paddings, at the start of a cache line: Go aligns functions to 32 bytes.
  void look_for_bare_calls(std::string_view code, std::uint64_t address) {
    constexpr std::uint64_t kAlign = 32;
    constexpr std::size_t kSize = 6;
    for (std::size_t at = (0 - address) % kAlign; at + kSize < code.size(); at += kAlign) {
      const bool bare = code[at] == '\xe8' && code[at + 5] == '\xc3' && code[at + 6] == '\xcc' &&
                        at > 0 && code[at - 1] == '\xcc';
      if (bare) mark(address + at, address + at + kSize, kOnlyReturnAddress);
    }
  }

  // Returns what is marked, in order, as ranges that do not overlap.
  std::vector<CodeRange> marked() const {
    std::vector<CodeRange> all;
    for (const Mark& mark : marks_) all.push_back({mark.start, mark.end});
    std::ranges::sort(all, {}, &CodeRange::start);
    std::vector<CodeRange> merged;
    for (const CodeRange& each : all) {
      if (!merged.empty() && each.start <= merged.back().end) {
        merged.back().end = std::max(merged.back().end, each.end);
      } else {
        merged.push_back(each);
      }
    }
    return merged;
  }

  void mark(std::uint64_t start, std::uint64_t end, const ls_unwind_rule& rule) {
    end = std::min(end, end_);
    if (!marks_.empty() && marks_.back().end == start && same_rule(marks_.back().rule, rule)) {
      marks_.back().end = end;
    } else if (marks_.size() < kMostMarks) {
      marks_.push_back({start, end, rule});
    }
  }

  Machine machine_;
  const Signs& signs_;
  std::uint64_t start_;
  std::uint64_t end_;
  bool frame_pointers_ = false;
  std::vector<Mark> marks_;
  std::vector<CodePart> unmarked_;  // the rules where nothing is marked, from start_ on
};

}  // namespace

bool fits(const std::vector<CodePart>& parts, const CodeLimits& limits) {
  if (parts.size() >= limits.parts) return false;
  RuleDictionary rules(limits.rules);
  std::size_t in_page = 0;
  std::uint64_t page = 0;
  for (const CodePart& part : parts) {
    if (!rules.number_of(part.rule)) return false;
    in_page = part.start >> LS_UNWIND_PAGE_BITS == page ? in_page + 1 : 1;
    page = part.start >> LS_UNWIND_PAGE_BITS;
    if (in_page > limits.parts_of_page) return false;
  }
  return true;
}

KnownFunctions known_functions(const ElfImage& file) {
  KnownFunctions known;
  known.starts = file.symtab_functions();
  known.all = !known.starts.empty();
  const auto exported = file.exported_functions();
  known.starts.insert(known.starts.end(), exported.begin(), exported.end());
  const auto called = file.loader_functions();
  known.starts.insert(known.starts.end(), called.begin(), called.end());
  std::sort(known.starts.begin(), known.starts.end());
  return known;
}

bool is_only_padding(std::string_view code, Machine machine) {
  return code.size() <= kMostPadding && is_padding(code, machine);
}

std::vector<CodePart> look_at_undescribed_code(const LoadedFile& file, Machine machine,
                                               const UndescribedCode& where) {
  const auto& [start, end, entry, functions, limits] = where;
  std::vector<char> bytes(std::min(end - start, kPiece));
  Gap gap(machine, start, end);
  const bool is_x86 = machine == Machine::kX86_64;
  for (std::uint64_t at = start; at < end;) {
    const std::uint64_t size = std::min(end - at, kPiece);
    const std::span<char> piece(bytes.data(), size);
    // Memory behind the file's end has no code.
    if (!file.read(at, std::as_writable_bytes(piece))) break;
    const std::string_view code(piece.data(), piece.size());
    gap.look(file, code, at);
    const std::uint64_t next = size == kPiece && at + size < end ? size - kOverlap : size;
    if (functions != nullptr && is_x86 && end - start <= kMostFollowed) {
      gap.follow_x86(code.substr(0, next), at, *functions);
    } else if (functions != nullptr && !is_x86 && size == end - start) {
      gap.follow_arm(code, functions->starts);
    }
    at += next;
  }
  gap.limit_followed(limits);
  if (entry >= start && entry < end) gap.mark(entry, entry + kEntryBytes, LS_CFA_ENTRY);
  auto parts = gap.parts();
  if (functions != nullptr && !fits(parts, limits)) return {{start, gap.rest()}};
  return parts;
}

}  // namespace labelscope
