// Tests the 64-byte trace context: what it holds after each call, and what a reader makes of it. No
// reader that verifies the checksum takes a half-written record for a whole one.
#include "customlabels/thread_context.h"

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "writer/single_step.h"

namespace {

struct NoContext {
  NoContext() { thread_context_clear(); }
};

constexpr std::array<std::uint32_t, THREAD_CONTEXT_TAGS> kTags = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

thread_context_record_t read_own() {
  thread_context_record_t record;
  thread_context_read(&context_tls_v1, &record);
  return record;
}

bool equal(const thread_context_record_t& a, const thread_context_record_t& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// Makes a record with these fields and their checksum.
thread_context_record_t record(std::uint64_t span, std::uint64_t root,
                               const std::vector<std::uint32_t>& tags) {
  thread_context_record_t whole = {};
  whole.span_id = span;
  whole.root_span_id = root;
  whole.checksum = thread_context_checksum(span, root);
  for (std::size_t i = 0; i < tags.size(); ++i) whole.tags[i] = tags[i];
  return whole;
}

}  // namespace

TEST_CASE("thread_context: the record has the layout of context_tls_v1") {
  CHECK(sizeof(thread_context_record_t) == 64);
  CHECK(alignof(thread_context_record_t) == 64);
  CHECK(offsetof(thread_context_record_t, span_id) == 0x00);
  CHECK(offsetof(thread_context_record_t, root_span_id) == 0x08);
  CHECK(offsetof(thread_context_record_t, checksum) == 0x10);
  CHECK(offsetof(thread_context_record_t, tags) == 0x18);
  CHECK(reinterpret_cast<std::uintptr_t>(&context_tls_v1) % 64 == 0);
  CHECK(thread_context_record() == &context_tls_v1);
}

// The specification's formula is span * K, exclusive or the root with its halves exchanged * K.
TEST_CASE("thread_context: the checksum is the specified hash") {
  CHECK(thread_context_checksum(1, 0) == 0x9E3779B97F4A7C15U);
  // A root of 1 becomes 2^32, which moves the constant's low half up.
  CHECK(thread_context_checksum(0, 1) == 0x7F4A7C1500000000U);
  CHECK(thread_context_checksum(1, 1) == (0x9E3779B97F4A7C15U ^ 0x7F4A7C1500000000U));
  CHECK(thread_context_checksum(0, std::uint64_t{1} << 32) == 0x9E3779B97F4A7C15U);
}

TEST_CASE("thread_context: a checksum is never zero, which means in progress") {
  CHECK(thread_context_checksum(0, 0) == 0xFFFFFFFFFFFFFFFFU);
  CHECK(thread_context_checksum(1, std::uint64_t{1} << 32) == 0xFFFFFFFFFFFFFFFFU);
}

TEST_CASE_METHOD(NoContext, "thread_context: without a context there is none to read") {
  thread_context_record_t out;
  std::memset(&out, 0xff, sizeof(out));
  CHECK(thread_context_read(&context_tls_v1, &out) == THREAD_CONTEXT_ABSENT);
  CHECK(equal(out, thread_context_record_t{}));
}

TEST_CASE_METHOD(NoContext, "thread_context: what is put is read back, with the tags") {
  thread_context_put(123, 456);
  CHECK(equal(read_own(), record(123, 456, {})));
  CHECK(thread_context_set_tag(9, 77));
  CHECK(thread_context_set_tag(0, 11));
  CHECK(equal(read_own(), record(123, 456, {11, 0, 0, 0, 0, 0, 0, 0, 0, 77})));
  thread_context_put(UINT64_MAX, 0);
  CHECK(equal(read_own(), record(UINT64_MAX, 0, {11, 0, 0, 0, 0, 0, 0, 0, 0, 77})));
}

TEST_CASE_METHOD(NoContext, "thread_context: putting all replaces the tags that are not given") {
  CHECK(thread_context_put_all(1, 2, kTags.data(), kTags.size()));
  CHECK(equal(read_own(), record(1, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})));
  CHECK(thread_context_put_all(3, 4, kTags.data() + 5, 2));
  CHECK(equal(read_own(), record(3, 4, {6, 7})));
  CHECK(thread_context_put_all(5, 6, nullptr, 0));
  CHECK(equal(read_own(), record(5, 6, {})));
}

TEST_CASE_METHOD(NoContext, "thread_context: a context of zeros is one, a cleared one is not") {
  thread_context_put(0, 0);
  thread_context_record_t out;
  CHECK(thread_context_read(&context_tls_v1, &out) == THREAD_CONTEXT_PRESENT);
  thread_context_set_tag(3, 1);
  thread_context_clear();
  CHECK(thread_context_read(&context_tls_v1, &out) == THREAD_CONTEXT_ABSENT);
  CHECK(equal(context_tls_v1, thread_context_record_t{}));
}

TEST_CASE_METHOD(NoContext, "thread_context: what is no tag is refused and changes nothing") {
  std::array<std::uint32_t, THREAD_CONTEXT_TAGS + 1> many{};
  thread_context_put_all(1, 2, kTags.data(), kTags.size());
  const thread_context_record_t before = context_tls_v1;
  CHECK_FALSE(thread_context_set_tag(THREAD_CONTEXT_TAGS, 1));
  CHECK_FALSE(thread_context_set_tag(SIZE_MAX, 1));
  CHECK_FALSE(thread_context_put_all(3, 4, many.data(), many.size()));
  CHECK_FALSE(thread_context_put_all(3, 4, nullptr, 1));
  CHECK_FALSE(thread_context_put_all(3, 4, kTags.data(), SIZE_MAX));
  CHECK(equal(context_tls_v1, before));
}

TEST_CASE_METHOD(NoContext, "thread_context: a record that was spoilt is torn") {
  thread_context_put(123, 456);
  for (const std::size_t offset : {0x00, 0x08, 0x10}) {
    for (int bit = 0; bit < 64; ++bit) {
      thread_context_record_t spoilt = context_tls_v1;
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<char*>(&spoilt) + offset, sizeof(word));
      word ^= std::uint64_t{1} << bit;
      std::memcpy(reinterpret_cast<char*>(&spoilt) + offset, &word, sizeof(word));
      thread_context_record_t out;
      INFO("offset " << offset << ", bit " << bit);
      REQUIRE(thread_context_read(&spoilt, &out) == THREAD_CONTEXT_TORN);
      REQUIRE(equal(out, thread_context_record_t{}));
    }
  }
}

// A reader on another CPU could meet any of these mixtures; thread_context.c has the argument why
// it cannot take one for whole.
TEST_CASE("thread_context: no mixture of two records fits either checksum") {
  std::mt19937_64 random(Catch::rngSeed());
  INFO("seed " << Catch::rngSeed());
  for (int i = 0; i < 100'000; ++i) {
    // Half of the numbers are small neighbours, since span IDs are not always random.
    const std::uint64_t mask = i % 2 == 0 ? UINT64_MAX : 0xff;
    const thread_context_record_t old = record(random() & mask, random() & mask, {});
    const thread_context_record_t next = record(random() & mask, random() & mask, {});
    if (old.span_id == next.span_id || old.root_span_id == next.root_span_id) continue;
    for (const std::uint64_t checksum : {old.checksum, next.checksum}) {
      thread_context_record_t out;
      thread_context_record_t mixed = old;
      mixed.checksum = checksum;
      mixed.span_id = next.span_id;
      REQUIRE(thread_context_read(&mixed, &out) == THREAD_CONTEXT_TORN);
      mixed.span_id = old.span_id;
      mixed.root_span_id = next.root_span_id;
      REQUIRE(thread_context_read(&mixed, &out) == THREAD_CONTEXT_TORN);
    }
  }
}

TEST_CASE_METHOD(NoContext,
                 "thread_context: threads have contexts of their own, and start without") {
  thread_context_put(1, 2);
  thread_context_record_t at_start = context_tls_v1;
  std::thread([&] {
    at_start = context_tls_v1;
    thread_context_put(3, 4);
  }).join();
  CHECK(equal(at_start, thread_context_record_t{}));
  CHECK(equal(read_own(), record(1, 2, {})));
}

TEST_CASE_METHOD(NoContext, "thread_context: a forked child keeps a copy") {
  thread_context_put(1, 2);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool kept = equal(read_own(), record(1, 2, {}));
    thread_context_put(3, 4);
    _exit(kept && equal(read_own(), record(3, 4, {})) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(equal(read_own(), record(1, 2, {})));
}

namespace {

struct ContextStep {
  std::string name;
  std::function<void()> act;
  thread_context_record_t after;  // all 0 if there is no context
};

// Checks what a reader accepts: the old record, nothing for a while, then the new one.
class ContextWatcher final : public StepWatcher {
 public:
  explicit ContextWatcher(const std::vector<ContextStep>& steps) : steps_(steps) {}

  void look(pid_t child, std::size_t step, std::size_t instruction, bool over) override {
    const thread_context_record_t none = {};
    const thread_context_record_t& before = step == 0 ? none : steps_[step - 1].after;
    const thread_context_record_t& after = steps_[step].after;
    thread_context_record_t raw = {};
    iovec local = {&raw, sizeof(raw)};
    iovec remote = {&context_tls_v1, sizeof(raw)};
    REQUIRE(process_vm_readv(child, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof(raw)));
    thread_context_record_t seen;
    const thread_context_state_t state = thread_context_read(&raw, &seen);
    const bool absent = state == THREAD_CONTEXT_ABSENT;
    in_progress_ += absent ? 1 : 0;
    INFO(steps_[step].name << ", instruction " << instruction << ": span " << raw.span_id
                           << ", root " << raw.root_span_id << ", checksum " << raw.checksum);
    CHECK(state != THREAD_CONTEXT_TORN);
    CHECK((absent || equal(seen, before) || equal(seen, after)));
    if (over) CHECK(equal(seen, after));
  }

  std::size_t in_progress() const { return in_progress_; }

 private:
  const std::vector<ContextStep>& steps_;
  std::size_t in_progress_ = 0;  // looks that found a change in progress
};

// Writes the fields, then the checksum, and never marks the record as unfinished.
void put_without_protocol(std::uint64_t span, std::uint64_t root) {
  volatile thread_context_record_t* own = &context_tls_v1;
  own->span_id = span;
  own->root_span_id = root;
  own->checksum = thread_context_checksum(span, root);
}

class TornCounter final : public StepWatcher {
 public:
  void look(pid_t child, std::size_t, std::size_t, bool) override {
    thread_context_record_t raw = {};
    iovec local = {&raw, sizeof(raw)};
    iovec remote = {&context_tls_v1, sizeof(raw)};
    REQUIRE(process_vm_readv(child, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof(raw)));
    thread_context_record_t seen;
    torn += thread_context_read(&raw, &seen) == THREAD_CONTEXT_TORN ? 1 : 0;
  }
  std::size_t torn = 0;
};

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

}  // namespace

TEST_CASE_METHOD(NoContext,
                 "thread_context: no instruction of any call shows a record that was not put") {
  const std::vector<ContextStep> steps = {
      {"the first", [] { thread_context_put(123, 456); }, record(123, 456, {})},
      {"another span", [] { thread_context_put(124, 456); }, record(124, 456, {})},
      {"both other", [] { thread_context_put(7, 8); }, record(7, 8, {})},
      {"the same again", [] { thread_context_put(7, 8); }, record(7, 8, {})},
      {"a tag", [] { thread_context_set_tag(4, 9); }, record(7, 8, {0, 0, 0, 0, 9})},
      {"refused: no such tag", [] { thread_context_set_tag(10, 9); },
       record(7, 8, {0, 0, 0, 0, 9})},
      {"all at once", [] { thread_context_put_all(1, 2, kTags.data(), 10); },
       record(1, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})},
      {"only other tags", [] { thread_context_put_all(1, 2, kTags.data() + 1, 9); },
       record(1, 2, {2, 3, 4, 5, 6, 7, 8, 9, 10})},
      {"clear", thread_context_clear, {}},
      {"clear again", thread_context_clear, {}},
      {"zeros", [] { thread_context_put(0, 0); }, record(0, 0, {})},
      {"end without", thread_context_clear, {}},
  };
  ContextWatcher watcher(steps);
  const auto body = [&] {
    for (const ContextStep& step : steps) {
      step.act();
      end_step();
    }
  };
  const Stepping stepping = step_or_skip(steps.size(), body, watcher);
  CHECK(stepping.instructions > 10 * steps.size());
  CHECK(watcher.in_progress() > steps.size());
}

TEST_CASE_METHOD(NoContext,
                 "thread_context: a writer without the protocol is caught by the checksum") {
  TornCounter counter;
  const auto body = [] {
    for (const std::uint64_t i : {1, 2}) {
      put_without_protocol(i, 100 + i);
      end_step();
    }
  };
  step_or_skip(2, body, counter);
  CHECK(counter.torn > 0);
}
