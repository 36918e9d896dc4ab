// Calls of every shape that compilers, assemblers and the kernel leave on a stack, one after the
// other, between two breakpoint instructions. A test steps from the first one to the second and
// unwinds at every instruction (process/stepped_unwind_test.cc). Before the first it prints
// {"shapes":{"name":address,...}}, each of which must be on a stack, and the places where the test
// can call libgcc's unwinder within this process:
//
//   {"libgcc":{"handler":...}}   handler of SIGUSR1: walks the stack that it has interrupted, and
//   {"frames":address}           leaves the count and the frames there, and stops.
#include <alloca.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// These are in stack_shapes.S.
int shape_pushes(int (*next)(int), int argument);
int shape_return_in_register(int argument);
int shape_register_frame(int (*next)(int), int argument);
void shape_undefined_first();
int shape_other_stack(int (*next)(int), int argument, void* top);
}

namespace {

#define SHAPE __attribute__((noipa)) static

// ---- libgcc's answer

constexpr unsigned kMostFrames = 256;
struct {
  std::uint64_t count;
  std::uint64_t frames[kMostFrames];  // of the code: the instruction, or the last byte of a call
} noted;

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void*) {
  int before_instruction = 0;
  const std::uint64_t address = _Unwind_GetIPInfo(context, &before_instruction);
  // After the root libgcc reports one more frame, at address 0.
  if (address == 0) return _URC_NORMAL_STOP;
  if (noted.count == kMostFrames) return _URC_NORMAL_STOP;
  noted.frames[noted.count++] = address - (before_instruction == 0 ? 1 : 0);
  return _URC_NO_REASON;
}

void note_stack(int) {
  noted.count = 0;
  _Unwind_Backtrace(note_frame, nullptr);
  __asm__ volatile("int3");
}

// ---- the shapes

SHAPE int leaf(int argument) {
  volatile char room[40];
  room[argument & 31] = static_cast<char>(argument);
  return room[argument & 31] + 1;
}

SHAPE int saves_registers(int argument) {
  int sum = 0;
  for (int i = 0; i < 2; ++i) sum += leaf(argument + i) * leaf(argument - i);
  return sum + leaf(sum);
}

SHAPE int with_alloca(int argument) {
  auto* room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(argument) + 40));
  room[argument] = 1;
  return leaf(argument) + room[argument];
}

SHAPE int recursive(int argument) {
  volatile int below = argument == 0 ? leaf(0) : recursive(argument - 1);
  return below + 1;
}

SHAPE int realigned(int argument) {
  alignas(128) volatile char room[256];
  auto* more = static_cast<volatile char*>(alloca(static_cast<std::size_t>(argument) + 30));
  room[argument] = 1;
  more[1] = 1;
  return leaf(argument) + room[argument] + more[1];
}

[[noreturn]] SHAPE void fails(int argument) { throw argument; }

// Its last instruction is a call.
SHAPE int ends_in_call(int argument) {
  if (argument == 1000) return 0;
  fails(argument);
}

struct Cleanup {
  int argument;
  ~Cleanup() { leaf(argument); }
};

SHAPE int cleans_up(int argument) {
  const Cleanup cleanup{argument};
  return ends_in_call(argument) + 1;
}

SHAPE int catches(int argument) {
  try {
    return cleans_up(argument);
  } catch (int caught) {
    return leaf(caught);
  }
}

SHAPE int calls_lazily(int argument) {
  // This is the first call of getsid() in this process, so the dynamic linker binds it.
  return static_cast<int>(getsid(0)) + argument + 1;
}

SHAPE int forks(int argument) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return status + argument;
}

SHAPE int asks_kernel(int argument) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec != 0 ? argument + 1 : 0;
}

void on_signal(int) { leaf(1); }

// Continues behind the instruction, which no processor has.
void on_fault(int, siginfo_t*, void* context) {
  leaf(2);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;
}

SHAPE int raises(int argument) { return raise(SIGUSR2) + argument; }

SHAPE int calls_undefined(int argument) {
  shape_undefined_first();
  return argument + 1;
}

alignas(16) char stacks[2][16 << 10];

SHAPE int on_higher_stack(int argument) {
  return shape_other_stack(saves_registers, argument, stacks[1] + sizeof stacks[1]) + 1;
}

// The first change of stacks leads to lower addresses, and the second to higher ones.
SHAPE int changes_stacks(int argument) {
  return shape_other_stack(on_higher_stack, argument, stacks[0] + sizeof stacks[0]) + 1;
}

SHAPE int everything(int argument) {
  int sum = saves_registers(argument) + with_alloca(argument) + recursive(5) + realigned(argument);
  sum += catches(argument) + calls_lazily(argument) + forks(argument) + asks_kernel(argument);
  sum += raises(argument) + calls_undefined(argument) + changes_stacks(argument);
  sum += shape_pushes(leaf, argument) + shape_return_in_register(argument);
  sum += shape_register_frame(realigned, argument);
  return sum + leaf(sum);
}

void handle(int number, int flags, void (*plain)(int), void (*full)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_flags = flags;
  if (full != nullptr) {
    action.sa_sigaction = full;
  } else {
    action.sa_handler = plain;
  }
  if (sigaction(number, &action, nullptr) != 0) std::abort();
}

void tell(const char* name, std::uint64_t address, const char* after) {
  std::printf("\"%s\":%lu%s", name, static_cast<unsigned long>(address), after);
}

}  // namespace

int main() {
  // The test's question may come at any instruction, also in another handler, so it has a stack of
  // its own and may nest.
  static char stack[256 << 10];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  if (sigaltstack(&alternative, nullptr) != 0) return 1;
  handle(SIGUSR1, SA_ONSTACK | SA_NODEFER, note_stack, nullptr);
  handle(SIGUSR2, 0, on_signal, nullptr);
  handle(SIGILL, SA_SIGINFO, nullptr, on_fault);
  // These do what happens once in a process and takes long: libgcc is loaded, names are bound.
  catches(3);
  raises(3);

  const auto at = [](auto* function) { return reinterpret_cast<std::uint64_t>(function); };
  std::printf("{\"shapes\":{");
  tell("leaf", at(leaf), ",");
  tell("saves_registers", at(saves_registers), ",");
  tell("with_alloca", at(with_alloca), ",");
  tell("recursive", at(recursive), ",");
  tell("realigned", at(realigned), ",");
  tell("fails", at(fails), ",");
  tell("ends_in_call", at(ends_in_call), ",");
  tell("cleans_up", at(cleans_up), ",");
  tell("catches", at(catches), ",");
  tell("calls_lazily", at(calls_lazily), ",");
  tell("forks", at(forks), ",");
  tell("asks_kernel", at(asks_kernel), ",");
  tell("raises", at(raises), ",");
  tell("on_signal", at(on_signal), ",");
  tell("on_fault", at(on_fault), ",");
  tell("undefined_first", at(shape_undefined_first), ",");
  tell("pushes", at(shape_pushes), ",");
  tell("other_stack", at(shape_other_stack), ",");
  tell("return_in_register", at(shape_return_in_register), ",");
  tell("register_frame", at(shape_register_frame), "},");
  tell("libgcc", reinterpret_cast<std::uint64_t>(&noted), "}\nready\n");
  std::fflush(stdout);
  getchar();  // until the test has attached itself
  __asm__ volatile("int3");
  const int sum = everything(7);
  __asm__ volatile("int3");
  return sum == 0;
}
