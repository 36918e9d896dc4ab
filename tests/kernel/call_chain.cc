// Compiled as most programs are: optimized and without frame pointers
// (tests/kernel/CMakeLists.txt). Each letter's function is in a section of its own, whose bounds
// the linker provides.
#include "kernel/call_chain.h"

#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "kernel/sampled_child.h"

namespace labelscope::test {
namespace {

constexpr unsigned kDeepest = 60;
constexpr unsigned kMostCalls = 30;  // that one call of the outermost function makes

char chain[256];
custom_labels_label_t* slot = nullptr;
unsigned state = 1;
unsigned calls_left = 0;

unsigned chance(unsigned bound) {
  state = state * 1103515245 + 12345;
  return (state >> 16) % bound;
}

// Each change is one store, so that between two instructions the label is the one before or the one
// after.
inline void push(char letter) {
  chain[slot->value.len] = letter;
  asm volatile("" ::: "memory");
  slot->value.len = slot->value.len + 1;
  asm volatile("" ::: "memory");
}
inline void pop() {
  asm volatile("" ::: "memory");
  slot->value.len = slot->value.len - 1;
  asm volatile("" ::: "memory");
}

void go_on();

#define CHAIN_FUNCTION(letter) \
  __attribute__((noinline, noclone, section("chain_" #letter))) void function_##letter()

volatile unsigned sink;

CHAIN_FUNCTION(a) {
  for (unsigned i = 0; i < 200; ++i) sink = sink + i;
  go_on();
  sink = sink + 1;
}
// Its frame has a size that is known only at run time.
CHAIN_FUNCTION(b) {
  const std::size_t size = 16 + chance(500);
  auto* memory = static_cast<char*>(alloca(size));
  std::memset(memory, 1, size);
  asm volatile("" ::"r"(memory) : "memory");
  go_on();
  sink = sink + static_cast<unsigned char>(memory[size - 1]);
}
// Its frame is aligned.
CHAIN_FUNCTION(c) {
  alignas(128) char memory[256];
  std::memset(memory, 2, sizeof memory);
  asm volatile("" ::"r"(memory) : "memory");
  go_on();
  sink = sink + static_cast<unsigned char>(memory[17]);
}
// The libc calls this back.
bool called_back = false;
int compare(const void* left, const void* right) {
  if (!called_back) {
    called_back = true;
    go_on();
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
CHAIN_FUNCTION(d) {
  int numbers[40];
  for (int& number : numbers) number = static_cast<int>(chance(1000));
  called_back = false;
  std::qsort(numbers, std::size(numbers), sizeof numbers[0], compare);
  sink = sink + static_cast<unsigned>(numbers[3]);
}
// Throws an exception, and so unwinds itself.
__attribute__((noinline, noclone)) void throw_on(unsigned depth) {
  if (depth == 0) throw depth;
  throw_on(depth - 1);
  sink = sink + depth;
}
CHAIN_FUNCTION(e) {
  try {
    throw_on(4);
  } catch (unsigned) {
    go_on();
  }
  sink = sink + 1;
}
// Goes on in a signal handler, which has another stack unless it interrupts one that has.
void handle(int) { go_on(); }
CHAIN_FUNCTION(f) {
  raise(SIGUSR2);
  sink = sink + 1;
}
// Needs all registers, and a large frame.
CHAIN_FUNCTION(g) {
  volatile std::uint64_t large[1000];
  for (unsigned i = 0; i < 1000; i += 8) large[i] = i;
  go_on();
  sink = sink + static_cast<unsigned>(large[8] + large[992]);
}

struct Function {
  char letter;
  void (*call)();
};
constexpr Function kFunctions[] = {{'a', function_a}, {'b', function_b}, {'c', function_c},
                                   {'d', function_d}, {'e', function_e}, {'f', function_f},
                                   {'g', function_g}};

void go_on() {
  for (unsigned times = 1 + chance(2); times > 0; --times) {
    if (calls_left == 0 || slot->value.len >= kDeepest) return;
    --calls_left;
    const Function& next = kFunctions[chance(std::size(kFunctions))];
    push(next.letter);
    next.call();
    pop();
  }
}

// Calls from outside this file go through these two functions, which have no frame pointers.
char next_letter;
void (*next_call)();
CHAIN_FUNCTION(y) {
  const std::size_t size = 100 + chance(100);
  auto* memory = static_cast<char*>(alloca(size));
  std::memset(memory, 1, size);
  asm volatile("" ::"r"(memory) : "memory");
  push(next_letter);
  next_call();
  pop();
  sink = sink + static_cast<unsigned char>(memory[size - 1]);
}
CHAIN_FUNCTION(x) {
  volatile std::uint64_t room[20];
  room[3] = 3;
  push('y');
  function_y();
  pop();
  sink = sink + static_cast<unsigned>(room[3]);
}

__attribute__((noinline, noclone, section("chain_r"))) void recursion(
    unsigned depth, const std::function<bool()>& done) {
  if (depth == 1) {
    burn(done);
  } else {
    recursion(depth - 1, done);
  }
  asm volatile("");
}

}  // namespace

#define CHAIN_BOUNDS(letter)                \
  extern "C" char __start_chain_##letter[]; \
  extern "C" char __stop_chain_##letter[];
CHAIN_BOUNDS(a)
CHAIN_BOUNDS(b)
CHAIN_BOUNDS(c)
CHAIN_BOUNDS(d)
CHAIN_BOUNDS(e)
CHAIN_BOUNDS(f)
CHAIN_BOUNDS(g)
CHAIN_BOUNDS(r)
CHAIN_BOUNDS(x)
CHAIN_BOUNDS(y)

const ChainCodes& chain_codes() {
#define CHAIN_RANGE(letter, text) \
  ChainCode { text, address_of(__start_chain_##letter), address_of(__stop_chain_##letter) }
  const auto address_of = [](const char* code) { return reinterpret_cast<std::uint64_t>(code); };
  static const ChainCodes codes{CHAIN_RANGE(a, 'a'), CHAIN_RANGE(b, 'b'), CHAIN_RANGE(c, 'c'),
                                CHAIN_RANGE(d, 'd'), CHAIN_RANGE(e, 'e'), CHAIN_RANGE(f, 'f'),
                                CHAIN_RANGE(g, 'g'), CHAIN_RANGE(r, 'r'), CHAIN_RANGE(x, 'x'),
                                CHAIN_RANGE(y, 'y')};
  return codes;
}

void begin_chain() {
  // The elements must not move, and must outlive the call.
  static std::vector<custom_labels_label_t> labels{label("chain", "")};
  slot = labels.data();
  slot->value.buf = reinterpret_cast<const unsigned char*>(chain);
  slot->value.len = 0;
  stack_t stack{};
  stack.ss_size = 1 << 20;
  stack.ss_sp = ::mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_NODEFER | SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  publish_labels(labels);
}

void call_in_chain(char letter, void (*call)()) {
  next_letter = letter;
  next_call = call;
  push('x');
  function_x();
  pop();
}

void call_at_random(unsigned seed, const std::function<bool()>& done) {
  begin_chain();
  state = seed;
  while (!done()) {
    calls_left = kMostCalls;
    go_on();
  }
}

void recurse(unsigned depth, const std::function<bool()>& done) { recursion(depth, done); }

std::string letters_of(const std::vector<std::uint64_t>& stack, const ChainCodes& codes) {
  std::string letters;
  for (std::size_t i = stack.size(); i-- > 0;) {
    const std::uint64_t address = i == 0 ? stack[i] : stack[i] - 1;
    for (const ChainCode& each : codes) {
      if (address >= each.start && address < each.stop) letters += each.letter;
    }
  }
  return letters;
}

std::size_t recursions_in(const std::vector<std::uint64_t>& stack) {
  return letters_of(stack).size();
}

}  // namespace labelscope::test
