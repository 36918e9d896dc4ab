// Tests OpenTelemetry's thread context: the record after each call, and calls that are refused. A
// reader that interrupts the thread sees the old record or the new one, and nothing else.
#include "customlabels/otel_context.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "writer/single_step.h"

namespace {

using Attributes = std::vector<std::pair<int, std::string>>;
// The bytes of a record that are used, or nothing if the pointer is null.
using Seen = std::optional<std::string>;

constexpr std::array<std::uint8_t, 16> kTrace = {1, 2,  3,  4,  5,  6,  7,  8,
                                                 9, 10, 11, 12, 13, 14, 15, 16};
constexpr std::array<std::uint8_t, 16> kOtherTrace = {16};
constexpr std::array<std::uint8_t, 8> kSpan = {0, 0, 0, 0, 0, 0, 0, 0xa1};
constexpr std::array<std::uint8_t, 8> kOtherSpan = {0xa2};
constexpr std::array<std::uint8_t, 16> kNoTrace = {};
constexpr std::array<std::uint8_t, 8> kNoSpan = {};

struct NoContext {
  NoContext() { otel_context_detach(); }
};

// Makes a record in the format's form, byte by byte.
Seen record(const std::array<std::uint8_t, 16>& trace, const std::array<std::uint8_t, 8>& span,
            int flags, const Attributes& attributes) {
  std::string entries;
  for (const auto& [key, value] : attributes) {
    entries += static_cast<char>(key);
    entries += static_cast<char>(value.size());
    entries += value;
  }
  const auto size = static_cast<std::uint16_t>(entries.size());
  std::string bytes(trace.begin(), trace.end());
  bytes.append(span.begin(), span.end());
  bytes += '\1';
  bytes += static_cast<char>(flags);
  bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return bytes + entries;
}

// Reads like a reader: the pointer, the head, and as much as the head says.
Seen read_context(pid_t pid) {
  const auto read = [pid](const void* from, void* to, std::size_t size) {
    iovec local = {to, size};
    iovec remote = {const_cast<void*>(from), size};
    REQUIRE(process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size));
  };
  const char* at = nullptr;
  read(&otel_thread_ctx_v1, &at, sizeof(at));
  if (at == nullptr) return std::nullopt;
  std::string bytes(28, '\0');
  read(at, bytes.data(), bytes.size());
  std::uint16_t size = 0;
  std::memcpy(&size, bytes.data() + 26, sizeof(size));
  bytes.resize(28 + std::size_t{size});
  read(at + 28, bytes.data() + 28, size);
  return bytes;
}

Seen bytes_of(const otel_context_record_t* record) {
  if (record == nullptr) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(record),
                     28 + std::size_t{record->attributes_size});
}
Seen own() { return bytes_of(otel_context_current()); }

otel_context_result_t attach(const std::array<std::uint8_t, 16>& trace,
                             const std::array<std::uint8_t, 8>& span, int flags,
                             const Attributes& attributes = {}) {
  std::vector<otel_context_attribute_t> raw;
  raw.reserve(attributes.size());
  for (const auto& [key, value] : attributes)
    raw.push_back({static_cast<std::uint8_t>(key), value.data(), value.size()});
  return otel_context_attach(trace.data(), span.data(), static_cast<std::uint8_t>(flags),
                             raw.data(), raw.size());
}

otel_context_result_t set(int key, std::string_view value) {
  return otel_context_set(static_cast<std::uint8_t>(key), value.data(), value.size());
}

// These fill the record: 2 * (2 + 255) + 98 = 612.
const Attributes kFull = {
    {0, std::string(255, 'a')}, {255, std::string(255, 'b')}, {7, std::string(96, 'c')}};

}  // namespace

TEST_CASE("otel_context: the record has the layout of OTEP 4947") {
  CHECK(sizeof(otel_context_record_t) == 640);
  CHECK(offsetof(otel_context_record_t, trace_id) == 0);
  CHECK(offsetof(otel_context_record_t, span_id) == 16);
  CHECK(offsetof(otel_context_record_t, valid) == 24);
  CHECK(offsetof(otel_context_record_t, trace_flags) == 25);
  CHECK(offsetof(otel_context_record_t, attributes_size) == 26);
  CHECK(offsetof(otel_context_record_t, attributes) == 28);
}

TEST_CASE_METHOD(NoContext, "otel_context: what is attached is in the record, and replaces all") {
  CHECK(own() == std::nullopt);
  CHECK(attach(kTrace, kSpan, 1, {{0, "/pay"}, {3, ""}, {255, "acme"}}) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}, {3, ""}, {255, "acme"}}));
  CHECK(own() == read_context(getpid()));
  CHECK(reinterpret_cast<std::uintptr_t>(otel_context_current()) % 2 == 0);
  CHECK(attach(kOtherTrace, kOtherSpan, 0) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kOtherTrace, kOtherSpan, 0, {}));
  CHECK(attach(kNoTrace, kNoSpan, 0, {{1, "x"}}) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {{1, "x"}}));
  CHECK(otel_context_attach(nullptr, nullptr, 2, nullptr, 0) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {}));
  CHECK(otel_context_detach() == OTEL_CONTEXT_OK);
  CHECK(own() == std::nullopt);
}

TEST_CASE_METHOD(NoContext, "otel_context: one attribute changes and all else stays") {
  CHECK(attach(kTrace, kSpan, 1, {{0, "/pay"}, {1, "acme"}, {2, "z"}}) == OTEL_CONTEXT_OK);
  CHECK(set(1, "globex") == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}, {1, "globex"}, {2, "z"}}));
  CHECK(set(9, "new") == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}, {1, "globex"}, {2, "z"}, {9, "new"}}));
  CHECK(otel_context_set(0, nullptr, 0) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, ""}, {1, "globex"}, {2, "z"}, {9, "new"}}));
  CHECK(otel_context_remove(1) == OTEL_CONTEXT_OK);
  CHECK(otel_context_remove(1) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, ""}, {2, "z"}, {9, "new"}}));
}

TEST_CASE_METHOD(NoContext, "otel_context: an attribute begins a record, to remove one does not") {
  CHECK(otel_context_remove(4) == OTEL_CONTEXT_OK);
  CHECK(own() == std::nullopt);
  CHECK(set(4, "x") == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {{4, "x"}}));
  CHECK(otel_context_remove(4) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {}));
}

TEST_CASE_METHOD(NoContext, "otel_context: without a span there are no trace flags") {
  REQUIRE(attach(kNoTrace, kNoSpan, 1, {{4, "x"}}) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {{4, "x"}}));
}

TEST_CASE_METHOD(NoContext, "otel_context: values of the current record can be attached again") {
  REQUIRE(attach(kTrace, kSpan, 1, kFull) == OTEL_CONTEXT_OK);
  const otel_context_record_t* current = otel_context_current();
  const otel_context_attribute_t again = {5, current->attributes + 2, 255};
  CHECK(otel_context_attach(current->trace_id, kOtherSpan.data(), 1, &again, 1) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kOtherSpan, 1, {{5, kFull[0].second}}));
}

TEST_CASE_METHOD(NoContext, "otel_context: what does not fit is refused and changes nothing") {
  REQUIRE(attach(kTrace, kSpan, 1, kFull) == OTEL_CONTEXT_OK);
  const otel_context_record_t* before = otel_context_current();
  const Attributes over = {kFull[0], kFull[1], {7, std::string(97, 'c')}};
  CHECK(attach(kTrace, kSpan, 1, over) == OTEL_CONTEXT_FULL);
  CHECK(set(8, "") == OTEL_CONTEXT_FULL);
  CHECK(set(7, std::string(97, 'd')) == OTEL_CONTEXT_FULL);
  CHECK(set(8, std::string(256, 'd')) == OTEL_CONTEXT_VALUE_TOO_LONG);
  CHECK(attach(kTrace, kSpan, 1, {{8, std::string(256, 'd')}}) == OTEL_CONTEXT_VALUE_TOO_LONG);
  CHECK(attach(kTrace, kNoSpan, 1) == OTEL_CONTEXT_HALF_ID);
  CHECK(attach(kNoTrace, kSpan, 1) == OTEL_CONTEXT_HALF_ID);
  CHECK(otel_context_attach(kTrace.data(), nullptr, 1, nullptr, 0) == OTEL_CONTEXT_HALF_ID);
  CHECK(attach(kTrace, kSpan, 1, {{1, "a"}, {2, "b"}, {1, "a"}}) == OTEL_CONTEXT_DUPLICATE_KEY);
  CHECK(otel_context_set(1, nullptr, 1) == OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(otel_context_attach(kTrace.data(), kSpan.data(), 1, nullptr, 1) ==
        OTEL_CONTEXT_BAD_ARGUMENT);
  const otel_context_attribute_t no_value = {1, nullptr, 1};
  CHECK(otel_context_attach(kTrace.data(), kSpan.data(), 1, &no_value, 1) ==
        OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(otel_context_current() == before);
  CHECK(own() == record(kTrace, kSpan, 1, kFull));
  // The thread may continue to write.
  CHECK(set(7, std::string(96, 'd')) == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 1, {kFull[0], kFull[1], {7, std::string(96, 'd')}}));
}

TEST_CASE("otel_context: each result has words of its own") {
  std::vector<std::string> texts;
  for (int i = 0; i <= OTEL_CONTEXT_BAD_ARGUMENT + 1; ++i)
    texts.emplace_back(otel_context_result_text(static_cast<otel_context_result_t>(i)));
  CHECK(texts.back() == "no result of this library");
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(texts[i] != texts[j]);
}

// A program may have another writer, too.
TEST_CASE_METHOD(NoContext, "otel_context: a record of another writer is copied with care") {
  otel_context_record_t other = {};
  std::memcpy(other.trace_id, kTrace.data(), 16);
  std::memcpy(other.span_id, kSpan.data(), 8);
  other.valid = 1;
  // Key 1 is there twice, and the last entry is cut.
  const std::string entries("\1\1a\2\1b\1\1c\3\1", 11);
  std::memcpy(other.attributes, entries.data(), entries.size());
  other.attributes_size = static_cast<std::uint16_t>(entries.size());
  otel_thread_ctx_v1 = &other;
  CHECK(set(1, "x") == OTEL_CONTEXT_OK);
  CHECK(own() == record(kTrace, kSpan, 0, {{1, "x"}, {2, "b"}}));

  other.valid = 0;
  otel_thread_ctx_v1 = &other;
  CHECK(otel_context_remove(2) == OTEL_CONTEXT_OK);
  CHECK(otel_context_current() == &other);
  CHECK(set(1, "x") == OTEL_CONTEXT_OK);
  CHECK(own() == record(kNoTrace, kNoSpan, 0, {{1, "x"}}));
}

TEST_CASE_METHOD(NoContext, "otel_context: a record of another writer may be larger than ours") {
  struct {
    otel_context_record_t record;
    std::array<std::uint8_t, 1000> more;
  } other = {};
  other.record.valid = 1;
  other.record.attributes_size = 612 + 1000;
  // The record has 806 times key 0 without a value. With one of them it would fit.
  otel_thread_ctx_v1 = &other.record;
  CHECK(set(0, "x") == OTEL_CONTEXT_FULL);
  CHECK(otel_context_remove(0) == OTEL_CONTEXT_FULL);
  CHECK(otel_context_current() == &other.record);
  otel_context_detach();
}

TEST_CASE_METHOD(NoContext, "otel_context: threads have contexts of their own, and start without") {
  REQUIRE(attach(kTrace, kSpan, 1, {{0, "/pay"}}) == OTEL_CONTEXT_OK);
  Seen at_start = "";
  Seen set_there;
  std::thread([&] {
    at_start = own();
    set(1, "there");
    set_there = own();
  }).join();
  CHECK(at_start == std::nullopt);
  CHECK(set_there == record(kNoTrace, kNoSpan, 0, {{1, "there"}}));
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}}));
}

TEST_CASE_METHOD(NoContext, "otel_context: a forked child keeps a copy") {
  REQUIRE(attach(kTrace, kSpan, 1, {{0, "/pay"}}) == OTEL_CONTEXT_OK);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool kept = own() == record(kTrace, kSpan, 1, {{0, "/pay"}});
    set(0, "/child");
    _exit(kept && own() == record(kTrace, kSpan, 1, {{0, "/child"}}) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}}));
}

// ---- a signal handler that writes while its thread writes

namespace {

std::array<otel_context_result_t, 4> in_handler;
otel_context_record_t seen_in_handler;
char* page = nullptr;

// A write has touched the page, and is interrupted in its middle.
void on_fault(int) {
  in_handler = {set(1, "handler"), otel_context_remove(0), otel_context_detach(),
                otel_context_attach(kOtherTrace.data(), kOtherSpan.data(), 0, nullptr, 0)};
  seen_in_handler = *otel_context_current();
  mprotect(page, 4096, PROT_READ);
}

otel_context_result_t at_signal = OTEL_CONTEXT_OK;
void on_signal(int) { at_signal = set(9, "handler"); }

}  // namespace

TEST_CASE_METHOD(NoContext, "otel_context: a handler that interrupts a write is refused") {
  REQUIRE(attach(kTrace, kSpan, 1, {{0, "/pay"}}) == OTEL_CONTEXT_OK);
  void* mapped = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  page = static_cast<char*>(mapped);
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = on_fault;
  REQUIRE(sigaction(SIGSEGV, &action, &before) == 0);
  const otel_context_result_t result = otel_context_set(2, page, 3);
  sigaction(SIGSEGV, &before, nullptr);
  CHECK(result == OTEL_CONTEXT_OK);
  for (const otel_context_result_t refused : in_handler) CHECK(refused == OTEL_CONTEXT_BUSY);
  CHECK(bytes_of(&seen_in_handler) == record(kTrace, kSpan, 1, {{0, "/pay"}}));
  CHECK(own() == record(kTrace, kSpan, 1, {{0, "/pay"}, {2, std::string(3, '\0')}}));
  CHECK(set(1, "after") == OTEL_CONTEXT_OK);
  munmap(mapped, 4096);
}

namespace {

enum Verdict { kBoth = 0, kRefused = 1, kMixed = 2, kNotTraceable = 77 };

[[noreturn]] void run_interrupted() {
  std::signal(SIGUSR1, on_signal);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kNotTraceable);
  raise(SIGSTOP);
  set(1, "thread");
  raise(SIGSTOP);
  const Seen seen = own();
  // Either of the two may be first.
  const bool both = seen == record(kTrace, kSpan, 1, {{0, "/"}, {9, "handler"}, {1, "thread"}}) ||
                    seen == record(kTrace, kSpan, 1, {{0, "/"}, {1, "thread"}, {9, "handler"}});
  const bool one = seen == record(kTrace, kSpan, 1, {{0, "/"}, {1, "thread"}});
  if (at_signal == OTEL_CONTEXT_OK && both) _exit(kBoth);
  _exit(at_signal == OTEL_CONTEXT_BUSY && one ? kRefused : kMixed);
}

// Returns the verdict on a thread that gets a signal after this number of instructions, or nothing
// if the call has fewer.
std::optional<int> interrupted_after(int instructions) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) run_interrupted();
  int status = 0;
  const auto go_on = [&](__ptrace_request how, std::uintptr_t signal) {
    ptrace(how, child, nullptr, signal);
    waitpid(child, &status, 0);
  };
  waitpid(child, &status, 0);
  for (int i = 0; i < instructions && WIFSTOPPED(status); ++i) {
    go_on(PTRACE_SINGLESTEP, 0);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return std::nullopt;
  }
  go_on(PTRACE_CONT, SIGUSR1);
  while (WIFSTOPPED(status)) go_on(PTRACE_CONT, 0);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE_METHOD(NoContext, "otel_context: a handler at any instruction is refused or is heard") {
#if defined(__SANITIZE_THREAD__)
  skip_test("the thread sanitizer delays signals, and its instructions would be stepped too");
#endif
  REQUIRE(attach(kTrace, kSpan, 1, {{0, "/"}}) == OTEL_CONTEXT_OK);
  std::array<int, 2> verdicts = {};
  for (int i = 0;; ++i) {
    INFO("after " << i << " instructions");
    const std::optional<int> verdict = interrupted_after(i);
    if (!verdict) break;
    if (*verdict == kNotTraceable) skip_test("this process may not trace its own child");
    REQUIRE(*verdict < kMixed);
    ++verdicts[static_cast<std::size_t>(*verdict)];
  }
  CHECK(verdicts[kRefused] > 20);
  CHECK(verdicts[kBoth] > 20);
}

// ---- every instruction

namespace {

struct Step {
  std::string name;
  std::function<void()> act;
  Seen after;
};

class RecordWatcher final : public StepWatcher {
 public:
  explicit RecordWatcher(const std::vector<Step>& steps) : steps_(steps) {}

  void look(pid_t child, std::size_t step, std::size_t instruction, bool over) override {
    const Seen before = step == 0 ? std::nullopt : steps_[step - 1].after;
    const Seen& after = steps_[step].after;
    const Seen seen = read_context(child);
    INFO(steps_[step].name << ", instruction " << instruction);
    CHECK((seen == before || seen == after));
    if (over) CHECK(seen == after);
    if (seen == after && before != after) ++new_ones;
  }
  std::size_t new_ones = 0;

 private:
  const std::vector<Step>& steps_;
};

std::vector<Step> all_calls() {
  const Seen none = std::nullopt;
  const Seen first = record(kTrace, kSpan, 1, {{0, "/pay"}, {1, "acme"}});
  const Attributes changed = {{0, "/pay"}, {1, "globex, inc."}};
  const Attributes added = {{0, "/pay"}, {1, "globex, inc."}, {200, std::string(255, 'x')}};
  const Attributes fewer = {{1, "globex, inc."}, {200, std::string(255, 'x')}};
  return {
      {"the first",
       [] {
         attach(kTrace, kSpan, 1, {{0, "/pay"}, {1, "acme"}});
       },
       first},
      {"replaced", [] { set(1, "globex, inc."); }, record(kTrace, kSpan, 1, changed)},
      {"added", [] { set(200, std::string(255, 'x')); }, record(kTrace, kSpan, 1, added)},
      {"removed", [] { otel_context_remove(0); }, record(kTrace, kSpan, 1, fewer)},
      {"removed again", [] { otel_context_remove(0); }, record(kTrace, kSpan, 1, fewer)},
      {"refused", [] { set(1, std::string(256, 'x')); }, record(kTrace, kSpan, 1, fewer)},
      {"all of it", [] { attach(kOtherTrace, kOtherSpan, 0, kFull); },
       record(kOtherTrace, kOtherSpan, 0, kFull)},
      {"full", [] { set(8, ""); }, record(kOtherTrace, kOtherSpan, 0, kFull)},
      {"only IDs", [] { attach(kTrace, kSpan, 1); }, record(kTrace, kSpan, 1, {})},
      {"none", [] { otel_context_detach(); }, none},
      {"none again", [] { otel_context_detach(); }, none},
      {"nothing to remove", [] { otel_context_remove(0); }, none},
      {"begun by an attribute", [] { set(3, "x"); }, record(kNoTrace, kNoSpan, 0, {{3, "x"}})},
      {"after it", [] { attach(kTrace, kSpan, 1); }, record(kTrace, kSpan, 1, {})},
  };
}

// Writes to the published record.
void set_in_place(char value) {
  volatile std::uint8_t* at = const_cast<std::uint8_t*>(otel_context_current()->attributes);
  for (int i = 2; i < 6; ++i) at[i] = static_cast<std::uint8_t>(value);
}

Stepping step_or_skip(std::size_t steps, const std::function<void()>& body, StepWatcher& watcher) {
#if defined(__SANITIZE_THREAD__)
  skip_test("the thread sanitizer's own instructions would be stepped too: far too many");
#endif
  std::optional<Stepping> stepping = single_step(steps, body, watcher);
  if (!stepping) skip_test("this process may not trace its own child (seccomp or yama?)");
  INFO(stepping->failure);
  REQUIRE(stepping->failure.empty());
  return *stepping;
}

class MixtureCounter final : public StepWatcher {
 public:
  void look(pid_t child, std::size_t, std::size_t, bool) override {
    const Seen seen = read_context(child);
    if (seen != record(kTrace, kSpan, 1, {{0, "aaaa"}}) &&
        seen != record(kTrace, kSpan, 1, {{0, "bbbb"}}))
      ++mixtures;
  }
  std::size_t mixtures = 0;
};

}  // namespace

TEST_CASE_METHOD(NoContext,
                 "otel_context: no instruction of any call shows a record that was not written") {
  const std::vector<Step> steps = all_calls();
  RecordWatcher watcher(steps);
  const auto body = [&] {
    for (const Step& step : steps) {
      step.act();
      end_step();
    }
  };
  const Stepping stepping = step_or_skip(steps.size(), body, watcher);
  CHECK(stepping.instructions > 50 * steps.size());
  CHECK(watcher.new_ones > 10);
}

TEST_CASE_METHOD(NoContext, "otel_context: a writer that changes its record in place is caught") {
  REQUIRE(attach(kTrace, kSpan, 1, {{0, "aaaa"}}) == OTEL_CONTEXT_OK);
  MixtureCounter counter;
  const auto body = [] {
    set_in_place('b');
    end_step();
  };
  step_or_skip(1, body, counter);
  CHECK(counter.mixtures > 0);
}
