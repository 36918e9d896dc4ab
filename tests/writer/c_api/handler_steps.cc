#include "writer/c_api/handler_steps.h"

#include <link.h>
#include <pthread.h>
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

#if defined(__x86_64__)
namespace {

// A trap costs microseconds, so not all of the library's instructions are interrupted: each one
// this near to the store that publishes, where its state changes together with what readers see.
constexpr int kNear = 25;

// Only the library's own instructions are interrupted: nothing of it changes between those of libc.
struct Code {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
};

Code writers_code() {
  Code found;
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* out) {
        const auto function = reinterpret_cast<std::uintptr_t>(&custom_labels_new);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = module->dlpi_phdr[i];
          const std::uintptr_t start = module->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && function >= start && function < start + segment.p_memsz)
            *static_cast<Code*>(out) = {start, start + segment.p_memsz};
        }
        return 0;
      },
      &found);
  return found;
}

constexpr greg_t kTrapFlag = 0x100;

Code code;
Handler handler = nullptr;
int instructions = 0;
int interrupted = 0;
int published = 0;
const custom_labels_labelset_t* shown = nullptr;
bool was_right = true;

void on_trap(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (at < code.start || at >= code.end) return;
  ++instructions;
  if (custom_labels_current_set != shown) published = instructions;
  shown = custom_labels_current_set;
  if (instructions != interrupted) return;
  was_right = handler();
  registers[REG_EFL] &= ~kTrapFlag;
}

// The stack pointer avoids the red zone, which belongs to the function that this is inlined into.
inline void set_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
      :
      :
      : "cc", "memory");
}
inline void clear_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
      :
      :
      : "cc", "memory");
}

// Runs the call with the handler before the library's nth instruction in it. With 0 the handler
// does not run.
void interrupt_before(int n, Handler what, const std::function<void()>& call) {
  handler = what;
  instructions = 0;
  interrupted = n;
  shown = custom_labels_current_set;
  was_right = true;
  set_trap_flag();
  call();
  clear_trap_flag();
}

class TrapHandler {
 public:
  TrapHandler() {
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    REQUIRE(sigaction(SIGTRAP, &action, &before_) == 0);
  }
  ~TrapHandler() { sigaction(SIGTRAP, &before_, nullptr); }
  TrapHandler(const TrapHandler&) = delete;
  TrapHandler& operator=(const TrapHandler&) = delete;

 private:
  struct sigaction before_ = {};
};
// Interrupts the step before the library's instructions, one of `far` where nothing is published.
void check_step(const Step& step, Handler what, int far) {
  INFO(step.name);
  step.prepare();
  interrupt_before(0, what, step.call);
  REQUIRE(step.went_well());
  REQUIRE(instructions > 10);
  const int last = instructions;
  const int middle = published;
  for (int n = 1; n <= last; n += std::abs(n - middle) < kNear ? 1 : far) {
    INFO("interrupted before the library's instruction " << n << " of " << last);
    step.prepare();
    interrupt_before(n, what, step.call);
    const bool well = step.went_well();
    REQUIRE(was_right);
    REQUIRE(well);
  }
}
// The destructor of this key runs after the library's own, whose key is older. It ends the steps,
// since a thread blocks signals soon after, and looks whether what is published has been freed.
void after_library(void*) {
  clear_trap_flag();
  void* volatile reused = std::malloc(CUSTOM_LABELS_THREAD_MEMORY);
  std::memset(reused, 0, CUSTOM_LABELS_THREAD_MEMORY);
  if (custom_labels_current_set != nullptr && current_labels() != Labels{{"handler", "stays"}})
    was_right = false;
  std::free(reused);
}

void end_thread_with_steps(pthread_key_t key, const std::function<void()>& start) {
  std::thread([&] {
    start();
    REQUIRE(pthread_setspecific(key, &key) == 0);
    set_trap_flag();
  }).join();
}

bool end_thread() { pthread_exit(nullptr); }

void* prepare_with_steps(void* finished) {
  interrupt_before(interrupted, end_thread, [] { custom_labels_thread_prepare(); });
  *static_cast<bool*>(finished) = true;
  return nullptr;
}

}  // namespace

void check_ends_within_first_call() {
  code = writers_code();
  const TrapHandler traps;
  bool finished = false;
  for (int n = 1; !finished; ++n) {
    INFO("ended before the library's instruction " << n);
    interrupted = n;
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, nullptr, prepare_with_steps, &finished) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
  }
  REQUIRE(instructions > 10);
}

void check_thread_end(const std::function<void()>& start, Handler what) {
  code = writers_code();
  const TrapHandler traps;
  pthread_key_t key{};
  REQUIRE(custom_labels_thread_prepare() == CUSTOM_LABELS_SET);
  REQUIRE(pthread_key_create(&key, after_library) == 0);
  handler = what;
  was_right = true;
  instructions = 0;
  for (int n = 1; instructions == n - 1; ++n) {
    INFO("interrupted before the library's instruction " << n);
    instructions = 0;
    interrupted = n;
    end_thread_with_steps(key, start);
    REQUIRE(was_right);
  }
  pthread_key_delete(key);
}

void check_steps(std::initializer_list<Step> steps, Handler what, int far) {
  code = writers_code();
  const TrapHandler traps;
  for (const Step& step : steps) check_step(step, what, far);
}
#else
void check_steps(std::initializer_list<Step>, Handler, int) {
  skip_test("a program can step through itself on x86-64 only");
}
void check_ends_within_first_call() {
  skip_test("a program can step through itself on x86-64 only");
}
void check_thread_end(const std::function<void()>&, Handler) {
  skip_test("a program can step through itself on x86-64 only");
}
#endif
