// The C++ program of stacks.py. It is built at -O2 without frame pointers, and repeats everything
// that makes stacks hard to unwind. Each part spends about the same time in work().
//
// An exception is thrown once in a thousand turns of work. While the C++ runtime carries one to its
// handler it overwrites the registers that it has saved, so a stack that is taken in that
// microsecond ends early.
#include <alloca.h>
#include <sys/time.h>

#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace {

volatile std::uint64_t sink;

__attribute__((noinline)) std::uint64_t work(unsigned turns) {
  std::uint64_t x = 88172645463325252U + sink % 2;
  for (unsigned i = 0; i < turns * 100; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// ---- exceptions, through a frame that has something to destroy

struct Counted {
  ~Counted() { sink = sink + 1; }
};
__attribute__((noinline)) void check(std::uint64_t value) {
  const Counted counted;
  if (value != 0) throw std::runtime_error("odd");
}
__attribute__((noinline)) void throw_and_catch() {
  sink = sink + work(1000);
  try {
    check(sink | 1);
  } catch (const std::exception& error) {
    sink = sink + std::strlen(error.what());
  }
}

// ---- signals, a thousand a second of its time

void on_signal(int) { sink = sink + work(50); }

// ---- 400 calls deep

__attribute__((noinline)) std::uint64_t recurse(unsigned depth) {
  return depth == 0 ? work(1000) : recurse(depth - 1) + 1;
}

// ---- a coroutine

struct Numbers {
  struct promise_type {
    std::uint64_t value = 0;
    Numbers get_return_object() {
      return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t next) noexcept {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  explicit Numbers(std::coroutine_handle<promise_type> it) : handle(it) {}
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { handle.destroy(); }
  std::coroutine_handle<promise_type> handle;
};
Numbers numbers(unsigned count) {
  for (unsigned i = 0; i < count; ++i) co_yield work(100);
}
__attribute__((noinline)) void resume_often() {
  const Numbers made = numbers(10);
  for (made.handle.resume(); !made.handle.done(); made.handle.resume()) {
    sink = sink + made.handle.promise().value;
  }
}

// ---- frames whose size or alignment is known only while they run

__attribute__((noinline)) void on_the_stack() {
  alignas(128) char aligned[256];
  auto* memory = static_cast<char*>(alloca(100 + sink % 64));
  std::memset(aligned, 1, sizeof aligned);
  std::memset(memory, 1, 100);
  asm volatile("" ::"r"(aligned), "r"(memory) : "memory");
  sink = sink + work(1000) + static_cast<unsigned char>(aligned[3] + memory[7]);
}

}  // namespace

// ---- assembly code that is described

extern "C" void in_assembly();
extern "C" void called_by_assembly() { sink = sink + work(500); }
#if defined(__x86_64__)
#define SPIN(label, count) "mov $" count ", %ecx\n" label ": dec %ecx\njnz " label "b\n"
asm(".text\n.globl in_assembly\nin_assembly:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
    "sub $0x70, %rsp\n.cfi_adjust_cfa_offset 0x70\n" SPIN("1", "100000") "call called_by_assembly\n"
    "add $0x70, %rsp\n.cfi_adjust_cfa_offset -0x70\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n" SPIN("2", "100000")
    "ret\n.cfi_endproc\n");
#else
#define SPIN(label, count) "ldr x9, =" count "\n" label ": subs x9, x9, #1\nb.ne " label "b\n"
asm(".text\n.globl in_assembly\nin_assembly:\n.cfi_startproc\n"
    "str x30, [sp, #-112]!\n.cfi_adjust_cfa_offset 112\n.cfi_rel_offset 30, 0\n" SPIN("1", "100000")
    "bl called_by_assembly\nldr x30, [sp], #112\n.cfi_restore 30\n.cfi_adjust_cfa_offset -112\n"
    SPIN("2", "100000") "ret\n.cfi_endproc\n.ltorg\n");
#endif

int main() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  itimerval timer{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  for (;;) {
    throw_and_catch();
    sink = sink + recurse(400);
    resume_often();
    on_the_stack();
    in_assembly();
  }
}
