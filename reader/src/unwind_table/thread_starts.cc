// Bytes show these things:
//
//   entry          musl and Go start a thread by a call of its first function, and boost a fiber by
//                  a jump. What comes behind has no caller.
//   goroutine      what a goroutine's function returns to: a call between two instructions that do
//                  nothing, and no return (runtime.goexit)
//   new thread     Two threads come out of the system call of clone() and clone3(). libcs describe
//                  nothing between it and the place where their ways part:
//
//                      mov $56, %eax            described: the CFA is rsp + 8
//                      syscall                  not described from here ...
//                      test %rax, %rax
//                      jl   error
//                      je   child
//                      ret                      ... to here
//               child: xor %ebp, %ebp           described: the return address is undefined
//
//                  The parent's stack is as before. The child has another stack, and 0 in rax.
//   context        makecontext() writes a return address to the new stack, that of the first byte
//                  of __start_context. This takes its stack pointer from a register, so no caller
//                  could be found again.
#include "unwind_table/thread_starts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/aarch64_words.h"
#include "unwind_table/frame_rules.h"
#include "unwind_table/x86_instruction.h"

namespace labelscope {
namespace {

using namespace std::string_view_literals;

// Recognizes nop; call runtime.goexit1; nop; padding.
bool is_x86_goroutine_end(std::string_view code) {
  return code.starts_with("\x90\xe8"sv) && code.substr(6, 2) == "\x90\xcc"sv;
}
// Recognizes mov x0, x0; bl runtime.goexit1; padding.
bool is_arm_goroutine_end(std::string_view code) {
  return code.starts_with("\xe0\x03\0\xaa"sv) && (code[7] & '\xfc') == '\x94' &&
         code.substr(8) == "\0\0\0\0"sv;
}
constexpr std::size_t kGoroutineEnd = 12;

// Between the number of clone() and the call musl does something else.
constexpr std::size_t kBeforeCall = 48;
// The ways of the two threads part within so many bytes behind the call.
constexpr std::size_t kBehindCall = 32;

struct Marks {
  std::vector<std::string_view> entries;
  std::string_view system_call;
  // Instructions in front of the call: the number of clone() or clone3(), right before it or not.
  std::vector<std::string_view> numbers;
  std::string_view early_number;
  // Instructions by which a new thread begins: it has no frame pointer.
  std::vector<std::string_view> new_threads;
  ls_unwind_rule parent;
  std::size_t goroutine_align;
  bool (*is_goroutine_end)(std::string_view code);
};

const Marks& marks_of(Machine machine) {
  static const Marks x86{
      // This is __clone of musl: xor %ebp, %ebp; pop %rdi; call *%r9.
      {"\x31\xed\x5f\x41\xff\xd1"sv,
       // This is runtime.clone of Go: call *%r12; mov $111, %edi.
       "\x41\xff\xd4\xbf\x6f\0\0\0"sv,
       // This is make_fcontext() of boost: push %rbp; jmp *%rbx; xor %rdi, %rdi; call _exit.
       "\x55\xff\xe3\x48\x31\xff\xe8"sv},
      "\x0f\x05"sv,
      // These are mov $56, %eax and mov $435, %eax, and for musl: xor %eax, %eax; mov $56, %al.
      {"\xb8\x38\0\0\0"sv, "\xb8\xb3\x01\0\0"sv},
      "\x31\xc0\xb0\x38"sv,
      {"\x31\xed"sv},  // xor %ebp, %ebp
      kOnlyReturnAddress,
      32,
      is_x86_goroutine_end};
  static const Marks arm{// This is __clone of musl: ldp x1, x0, [sp], #16; blr x1.
                         {"\xe1\x03\xc1\xa8\x20\x00\x3f\xd6"sv,
                          // This is runtime.clone of Go: blr x0; mov w0, #111.
                          "\0\0\x3f\xd6\xe0\x0d\x80\x52"sv},
                         "\x01\0\0\xd4"sv,
                         // These are mov x8, #220 and mov x8, #435.
                         {"\x88\x1b\x80\xd2"sv, "\x68\x36\x80\xd2"sv},
                         {},
                         // These are mov x29, #0 and, for musl, ldp x1, x0, [sp], #16.
                         {"\x1d\0\x80\xd2"sv, "\xe1\x03\xc1\xa8"sv},
                         kLinkRegister,
                         16,
                         is_arm_goroutine_end};
  return machine == Machine::kX86_64 ? x86 : arm;
}

template <class Use>
void for_each(std::string_view code, std::string_view wanted, Use use) {
  for (std::size_t at = 0; (at = code.find(wanted, at)) != std::string_view::npos;) {
    use(at);
    at += wanted.size();
  }
}

// The code in front of a system call and behind it.
struct Around {
  char bytes[kBeforeCall + kBehindCall] = {};
  std::string_view before() const { return {bytes, kBeforeCall}; }
  std::string_view behind() const { return {bytes + kBeforeCall, kBehindCall}; }
};

// The call is at `at` to `next` of `code`. Its number may be set in front of that code, and the new
// thread may begin behind it.
std::optional<Around> code_around(const LoadedFile& file, std::string_view code,
                                  std::uint64_t address, std::size_t at, std::size_t next) {
  Around around;
  const std::span<char> before(around.bytes, kBeforeCall);
  const std::span<char> behind(around.bytes + kBeforeCall, kBehindCall);
  if (at >= kBeforeCall) {
    std::ranges::copy(code.substr(at - kBeforeCall, kBeforeCall), before.begin());
  } else if (address + at < kBeforeCall ||
             !file.read(address + at - kBeforeCall, std::as_writable_bytes(before))) {
    return std::nullopt;
  }
  if (code.size() - next >= kBehindCall) {
    std::ranges::copy(code.substr(next, kBehindCall), behind.begin());
  } else if (!file.read(address + next, std::as_writable_bytes(behind))) {
    return std::nullopt;
  }
  return around;
}

bool makes_thread(const Around& code, const Marks& marks) {
  const auto before = code.before();
  const bool is_clone =
      std::ranges::any_of(marks.numbers, [&](auto each) { return before.ends_with(each); }) ||
      (!marks.early_number.empty() && before.find(marks.early_number) != std::string_view::npos);
  // Other code may call clone() as a fork: then the child has the same callers.
  return is_clone && std::ranges::any_of(marks.new_threads, [&](auto each) {
           return code.behind().find(each) != std::string_view::npos;
         });
}

// Returns the size of the comparison with 0, of the branches, and of the parent's return, if that
// comes next.
std::size_t size_of_parting(std::string_view code, Machine machine) {
  constexpr int kMostInstructions = 4;
  std::size_t size = 0;
  for (int i = 0; i < kMostInstructions && size < code.size(); ++i) {
    const std::string_view rest = code.substr(size);
    if (machine == Machine::kAarch64) {
      std::uint32_t word = 0;
      if (rest.size() < sizeof word) break;
      std::memcpy(&word, rest.data(), sizeof word);
      const bool returns = a64::through_register(word) == a64::ThroughRegister::kReturn;
      if (i > 0 && !returns && !a64::branch_distance(word)) break;
      size += a64::kInstructionSize;
      if (returns) break;
    } else {
      const x86::Instruction next = x86::decode(rest);
      if (next.size == 0 || (next.flow == x86::Flow::kNext && i > 0)) break;
      size += next.size;
      if (next.flow == x86::Flow::kReturn) break;
    }
  }
  return size;
}

}  // namespace

void find_thread_starts(const LoadedFile& file, Machine machine, std::string_view code,
                        std::uint64_t address, const AddRule& add) {
  const Marks& marks = marks_of(machine);
  for (std::string_view entry : marks.entries) {
    for_each(code, entry, [&](std::size_t at) {
      // This includes what the thread does when its function has returned.
      add(address + at, address + at + entry.size() + 8, rule_of_kind(LS_CFA_ENTRY));
    });
  }
  // The place is aligned as Go aligns functions.
  const std::size_t align = marks.goroutine_align;
  for (std::size_t at = (0 - address) % align; at + kGoroutineEnd <= code.size(); at += align) {
    if (!marks.is_goroutine_end(code.substr(at, kGoroutineEnd))) continue;
    add(address + at, address + at + 8, rule_of_kind(LS_CFA_ENTRY));
  }
  for_each(code, marks.system_call, [&](std::size_t at) {
    const std::size_t next = at + marks.system_call.size();
    const auto around = code_around(file, code, address, at, next);
    if (!around || !makes_thread(*around, marks)) return;
    ls_unwind_rule rule = marks.parent;
    rule.cfa = LS_CFA_NEW_THREAD;
    add(address + at, address + next + size_of_parting(around->behind(), machine), rule);
  });
}

bool starts_context(std::string_view code, Machine machine) {
  // This is mov %rbx, %rsp, and for aarch64: mov x0, x19; cbnz x0, __setcontext.
  if (machine == Machine::kX86_64) return code.starts_with("\x48\x89\xdc"sv);
  return code.size() >= kContextStart && code.starts_with("\xe0\x03\x13\xaa"sv) &&
         code[7] == '\xb5' && (code[4] & '\x1f') == 0;
}

bool is_thread_start(std::string_view function) {
  // These are of programs; of glibc, before and in the function that calls main; of its threads and
  // contexts; of musl and its threads; of Go's programs, threads and goroutines; of boost's fibers.
  static constexpr std::array kStarts = {"_start"sv,
                                         "__libc_start_main"sv,
                                         "__libc_start_main_impl"sv,
                                         "__libc_start_call_main"sv,
                                         "clone"sv,
                                         "__clone"sv,
                                         "clone3"sv,
                                         "__clone3"sv,
                                         "start_thread"sv,
                                         "__start_context"sv,
                                         "__startcontext"sv,
                                         "_start_c"sv,
                                         "libc_start_main_stage2"sv,
                                         "start"sv,
                                         "runtime.goexit"sv,
                                         "runtime.mstart"sv,
                                         "runtime.rt0_go"sv,
                                         "runtime.goexit.abi0"sv,
                                         "runtime.mstart.abi0"sv,
                                         "runtime.rt0_go.abi0"sv,
                                         "make_fcontext"sv};
  return std::ranges::count(kStarts, function.substr(0, function.find('@'))) != 0;
}

}  // namespace labelscope
