// Tests a signal handler that labels its own work, at every instruction of every call that may be
// interrupted so. The call, and those that come after it, must work as if the handler had not run.
// Random signals find such an instruction once in thousands; the processor's trap flag goes through
// all of them, with one signal each.
#include <link.h>
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

#if defined(__x86_64__)
using Handler = bool (*)();

custom_labels_labelset_t* handlers_set = nullptr;

// A scheduler in a handler may do this.
bool install_and_put_back() {
  custom_labels_labelset_t* found = custom_labels_replace(handlers_set);
  const bool installed = custom_labels_get(custom_labels_current(), raw("h")) != nullptr;
  custom_labels_replace(found);
  return installed;
}

// Any handler may do this. Within a call that changes the thread's own set, it gets the result
// "busy".
bool enter_and_leave() {
  const custom_labels_label_t label = raw("handler", "yes");
  custom_labels_saved_t saved;
  if (custom_labels_thread_enter(&saved, &label, 1) == CUSTOM_LABELS_BUSY) return true;
  const bool entered = custom_labels_get(custom_labels_current(), raw("handler")) != nullptr;
  custom_labels_thread_leave(&saved);
  return entered;
}

custom_labels_labelset_t* watched = nullptr;
Labels before_call;
Labels after_call;

// Any handler may read a set, also one that is not current and is being changed.
bool look() {
  for (std::size_t i = 0; i < custom_labels_count(watched); ++i) {
    const custom_labels_label_t* label = custom_labels_at(watched, i);
    if (label == nullptr || label->key.buf == nullptr || label->value.buf == nullptr) return false;
  }
  const Labels seen = labels_of(watched);
  return seen == before_call || seen == after_call;
}

// A trap costs microseconds, so not all of the library's instructions are interrupted: each one
// near the store that publishes, where its state changes together with what readers see, and one of
// kFar elsewhere.
constexpr int kNear = 25;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kFar = 101;  // most of the instructions are the sanitizer's
#else
constexpr int kFar = 11;
#endif

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
#endif

// A call, the labels after it, and a call that shows whether the library still knows which set is
// current.
struct Step {
  const char* name;
  std::function<void()> prepare;
  std::function<void()> call;
  std::function<bool()> went_well;
};

#if defined(__x86_64__)
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
#endif

void check_all_instructions([[maybe_unused]] std::initializer_list<Step> steps) {
#if defined(__x86_64__)
  SetObject in_handler(Labels{{"h", "1"}});
  handlers_set = in_handler.get();
  REQUIRE(custom_labels_thread_prepare() == CUSTOM_LABELS_SET);
  code = writers_code();
  const TrapHandler traps;
  for (const Handler what : {install_and_put_back, enter_and_leave}) {
    for (const Step& step : steps) check_step(step, what, kFar);
  }
#else
  skip_test("a program can step through itself on x86-64 only");
#endif
}

}  // namespace

TEST_CASE_METHOD(Unlabelled, "handler steps: changes of a current set object") {
  SetObject object;
  SetObject other(Labels{{"other", "1"}});
  const auto put = [&](const char* key, const char* value) {
    custom_labels_set(object.get(), raw(key), raw(value), nullptr);
  };
  const auto start = [&] {
    custom_labels_replace(nullptr);
    custom_labels_clear(object.get());
    put("a", "1");
    put("b", "2");
    custom_labels_replace(object.get());
    // Now the second block exists, too, and the two are related.
    put("a", "start");
  };
  // The next call must change what readers see.
  const auto holds = [&](const Labels& expected) {
    if (custom_labels_current() != object.get() || current_labels() != expected) return false;
    put("later", "l");
    return current_labels() == with(expected, "later", "l") && object.labels() == current_labels();
  };
  const custom_labels_label_t both[] = {raw("a", "both"), raw("c", "both")};
  check_all_instructions({
      {"set a new label", start, [&] { put("c", "3"); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}, {"c", "3"}});
       }},
      {"replace a value", start, [&] { put("a", "replaced"); },
       [&] {
         return holds({{"a", "replaced"}, {"b", "2"}});
       }},
      {"update two", start, [&] { custom_labels_update(object.get(), both, 2); },
       [&] {
         return holds({{"a", "both"}, {"b", "2"}, {"c", "both"}});
       }},
      {"remove", start, [&] { custom_labels_delete(object.get(), raw("a")); },
       [&] {
         return holds({{"b", "2"}});
       }},
      {"clear", start, [&] { custom_labels_clear(object.get()); }, [&] { return holds({}); }},
      {"replace the set", [&] { start(), custom_labels_replace(other.get()); },
       [&] { custom_labels_replace(object.get()); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
      {"replace nothing", [&] { start(), custom_labels_replace(nullptr); },
       [&] { custom_labels_replace(object.get()); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
      {"run_with", start,
       [&] {
         custom_labels_label_t label = raw("a", "within");
         custom_labels_run_with(
             object.get(), &label, 1, [](void*) -> void* { return nullptr; }, nullptr, nullptr);
       },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
  });
}

TEST_CASE_METHOD(Unlabelled, "handler steps: a handler reads a set that is changed") {
#if defined(__x86_64__)
  SetObject object;
  watched = object.get();
  code = writers_code();
  const TrapHandler traps;
  struct Change {
    const char* name;
    Labels before;
    std::function<void()> call;
    Labels after;
  };
  const auto put = [&](const char* key, const char* value) { object.put(key, value); };
  const Labels two = {{"a", "1"}, {"b", "2"}};
  const custom_labels_label_t added[] = {raw("c", "both"), raw("d", "both")};
  const custom_labels_label_t mixed[] = {raw("a", "both"), raw("c", "both")};
  const custom_labels_label_t twice[] = {raw("c", "first"), raw("c", "second")};
  const auto update = [&](const custom_labels_label_t* labels) {
    custom_labels_update(object.get(), labels, 2);
  };
  const Change changes[] = {
      {"add", two, [&] { put("c", "3"); }, with(two, "c", "3")},
      {"replace a value", two, [&] { put("a", "5"); }, with(two, "a", "5")},
      {"a longer value", two, [&] { put("a", "longer"); }, with(two, "a", "longer")},
      {"add two", two, [&] { update(added); }, with(with(two, "c", "both"), "d", "both")},
      {"update two", two, [&] { update(mixed); }, with(with(two, "a", "both"), "c", "both")},
      {"a key twice", two, [&] { update(twice); }, with(two, "c", "second")},
      {"remove", two, [&] { custom_labels_delete(object.get(), raw("a")); }, {{"b", "2"}}},
      {"clear", two, [&] { custom_labels_clear(object.get()); }, {}},
  };
  for (const Change& change : changes) {
    before_call = change.before;
    after_call = change.after;
    check_step({change.name,
                [&] {
                  // Where the call will write, there is something else.
                  custom_labels_clear(object.get());
                  for (const char* key : {"w", "x", "y", "z"}) object.put(key, "otherwise");
                  custom_labels_clear(object.get());
                  for (const auto& [key, value] : change.before) object.put(key, value);
                },
                change.call, [&] { return object.labels() == change.after; }},
               look, kFar == 11 ? 1 : kFar);
  }
#else
  skip_test("a program can step through itself on x86-64 only");
#endif
}

TEST_CASE_METHOD(Unlabelled, "handler steps: a set object that is current is freed") {
  custom_labels_labelset_t* object = nullptr;
  check_all_instructions(
      {{"free",
        [&] {
          object = custom_labels_new(0);
          custom_labels_set(object, raw("a"), raw("1"), nullptr);
          custom_labels_replace(object);
        },
        [&] { custom_labels_free(object); }, [] { return custom_labels_current() == nullptr; }}});
}

TEST_CASE_METHOD(Unlabelled, "handler steps: changes of the thread's own set") {
  const auto start = [] {
    custom_labels_replace(nullptr);
    custom_labels_thread_clear_trace();
    custom_labels_thread_clear();
    set("a", "1");
    set("b", "2");
  };
  const auto holds = [](const Labels& expected) {
    return current_labels() == expected && set("later", "l") >= 0 &&
           current_labels() == with(expected, "later", "l") &&
           labels_of(custom_labels_current()) == current_labels();
  };
  SetObject object(Labels{{"object", "1"}});
  const custom_labels_label_t label = raw("a", "within");
  custom_labels_saved_t saved;
  check_all_instructions({
      {"set a new label", start, [] { set("c", "3"); },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}, {"c", "3"}});
       }},
      {"replace a value", start, [] { set("a", "replaced"); },
       [&] {
         return holds({{"a", "replaced"}, {"b", "2"}});
       }},
      {"remove", start, [] { custom_labels_thread_remove("a", 1); },
       [&] {
         return holds({{"b", "2"}});
       }},
      {"clear", start, [] { custom_labels_thread_clear(); }, [&] { return holds({}); }},
      {"trace context", start, [] { custom_labels_thread_set_trace(7, 8); },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}, {"root-span-id", "8"}, {"span-id", "7"}});
       }},
      {"scope", start,
       [&] {
         custom_labels_thread_enter(&saved, &label, 1);
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}});
       }},
      {"scope with a set", start,
       [&] {
         custom_labels_thread_enter_set(&saved, object.get());
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}});
       }},
      {"scope in a set",
       [&] {
         start();
         custom_labels_replace(object.get());
       },
       [&] {
         custom_labels_thread_enter(&saved, &label, 1);
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return custom_labels_current() == object.get() &&
                current_labels() == Labels{{"object", "1"}};
       }},
  });
}
