// Tests the C API on one thread and on several, compared with what a reader finds by the ABI.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "customlabels/labels.hpp"
#include "support/catch.h"
#include "writer/label_steps.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace {

// Each test case is a process of its own, so its thread starts without labels.
namespace cl = customlabels;

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string value_after_set(const std::string& value) {
  cl::clear();
  cl::set("k", value);
  return current_labels().at(0).second;
}

// Runs in a child process. Takes all memory, and returns whether the first calls of this thread
// then fail as documented.
bool refuses_without_memory() {
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_AS, &none) != 0) return false;
  // The small pieces are taken, too, since a large request would merge them.
  for (const std::size_t size : {1024, 16}) {
    // The pointer is volatile, because a compiler may assume that a malloc whose result is unused
    // succeeds.
    static char anything;
    for (void* volatile taken = &anything; taken != nullptr;) taken = std::malloc(size);
  }
  if (cl::set("k", "v") != CUSTOM_LABELS_NO_MEMORY) return false;
  const cl::Scope scope("k", "v");
  return scope.result() == CUSTOM_LABELS_NO_MEMORY && custom_labels_current_set == nullptr;
}

std::size_t allocated_bytes() { return mallinfo2().uordblks; }

}  // namespace

TEST_CASE_METHOD(NoLabels, "thread_labels: every call of the chain leaves the set that it says") {
  CHECK(custom_labels_current_set == nullptr);
  for (const LabelStep& step : label_steps()) {
    step.act();
    INFO(step.name);
    CHECK(to_string(current_labels()) == to_string(step.after));
    CHECK(is_set(custom_labels_current_set, step.after));
  }
}

TEST_CASE_METHOD(NoLabels, "thread_labels: each call returns what it did") {
  CHECK(cl::remove("a") == CUSTOM_LABELS_ABSENT);
  CHECK(cl::clear() == CUSTOM_LABELS_ABSENT);
  CHECK(cl::set("a", "1") == CUSTOM_LABELS_SET);
  CHECK(cl::set("a", "2") == CUSTOM_LABELS_REPLACED);
  CHECK(cl::remove("b") == CUSTOM_LABELS_ABSENT);
  CHECK(cl::remove("a") == CUSTOM_LABELS_REMOVED);
  CHECK(cl::update({{"a", "1"}, {"b", "2"}}) == CUSTOM_LABELS_SET);
  CHECK(cl::update({{"c", "3"}, {"b", "4"}}) == CUSTOM_LABELS_SET);
  CHECK(cl::update({}) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "4"}, {"c", "3"}});
  CHECK(cl::replace({{"d", "5"}}) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"d", "5"}});
  CHECK(cl::replace({}) == CUSTOM_LABELS_REMOVED);
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(NoLabels, "thread_labels: of equal keys in one call the last counts") {
  CHECK(cl::replace({{"a", "1"}, {"b", "2"}, {"a", "longer"}}) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"a", "longer"}, {"b", "2"}});
}

TEST_CASE_METHOD(NoLabels, "thread_labels: the ninth label is refused and changes nothing") {
  Labels expected;
  for (char key = 'a'; key < 'a' + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS; ++key) {
    CHECK(cl::set({&key, 1}, "v") == CUSTOM_LABELS_SET);
    expected.emplace_back(std::string(1, key), "v");
  }
  CHECK(cl::set("z", "v") == CUSTOM_LABELS_FULL);
  CHECK(cl::update({{"a", "other"}, {"z", "v"}}) == CUSTOM_LABELS_FULL);
  CHECK(current_labels() == expected);
  CHECK(cl::set("h", "w") == CUSTOM_LABELS_REPLACED);
}

TEST_CASE_METHOD(NoLabels,
                 "thread_labels: arguments that mean nothing are refused and change nothing") {
  const auto* text = reinterpret_cast<const unsigned char*>("text");
  const custom_labels_label_t null_key = {{4, nullptr}, {4, text}};
  const custom_labels_label_t null_value = {{4, text}, {4, nullptr}};
  const custom_labels_label_t mixed[] = {{{4, text}, {4, text}}, null_key};
  CHECK(custom_labels_thread_set(nullptr, 4, "v", 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_set("k", 0, "v", 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_set("k", 1, nullptr, 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_remove(nullptr, 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_remove("k", 0) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_update(nullptr, 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_update(&null_key, 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_replace(&null_value, 1) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_thread_update(mixed, 2) == CUSTOM_LABELS_INVALID);
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(NoLabels, "thread_labels: an empty value is a value and has a pointer") {
  CHECK(custom_labels_thread_set("k", 1, nullptr, 0) == CUSTOM_LABELS_SET);
  REQUIRE(current_labels() == Labels{{"k", ""}});
  CHECK(custom_labels_current_set->storage[0].value.buf != nullptr);
}

TEST_CASE_METHOD(
    NoLabels,
    "thread_labels: a string at its limit stays whole, one byte more is cut and says so") {
  const std::string key(CUSTOM_LABELS_THREAD_MAX_KEY, 'k');
  const std::string value(CUSTOM_LABELS_THREAD_MAX_VALUE, 'v');
  CHECK(cl::set(key, value) == CUSTOM_LABELS_SET);
  CHECK(cl::set(key + "x", value) == CUSTOM_LABELS_TRUNCATED);
  CHECK(cl::set(key, value + "x") == CUSTOM_LABELS_TRUNCATED);
  CHECK(current_labels() == Labels{{key, value}});
  CHECK(cl::remove(key + "another end") == CUSTOM_LABELS_REMOVED);
}

TEST_CASE_METHOD(NoLabels,
                 "thread_labels: of several labels, one key or value that is cut says so") {
  const std::string key(CUSTOM_LABELS_THREAD_MAX_KEY + 1, 'k');
  const std::string value(CUSTOM_LABELS_THREAD_MAX_VALUE + 1, 'v');
  const auto bytes = [](const std::string& text) {
    return custom_labels_string_t{text.size(), reinterpret_cast<const unsigned char*>(text.data())};
  };
  const std::string whole = "w", other = "y", last = "z";
  // The cut key and the cut value are in separate calls, and neither first nor last.
  const custom_labels_label_t cut_key[] = {
      {bytes(whole), bytes(whole)}, {bytes(key), bytes(whole)}, {bytes(last), bytes(whole)}};
  const custom_labels_label_t cut_value[] = {
      {bytes(whole), bytes(whole)}, {bytes(other), bytes(value)}, {bytes(last), bytes(whole)}};
  CHECK(custom_labels_thread_update(cut_key, 3) == CUSTOM_LABELS_TRUNCATED);
  CHECK(custom_labels_thread_update(cut_value, 3) == CUSTOM_LABELS_TRUNCATED);
  CHECK(custom_labels_thread_update(cut_key, 1) == CUSTOM_LABELS_SET);
}

TEST_CASE_METHOD(NoLabels, "thread_labels: keys that differ in one byte, wherever, are two keys") {
  for (std::size_t length = 1; length <= 40; ++length) {
    const std::string key(length, 'k');
    for (std::size_t i = 0; i < length; ++i) {
      std::string other = key;
      other[i] = 'x';
      INFO("byte " << i << " of " << length);
      CHECK(cl::set(key, "1") == CUSTOM_LABELS_SET);
      CHECK(cl::set(other, "2") == CUSTOM_LABELS_SET);
      CHECK(cl::set(key, "3") == CUSTOM_LABELS_REPLACED);
      cl::clear();
    }
  }
}

TEST_CASE_METHOD(NoLabels, "thread_labels: a value is cut before the character that does not fit") {
  // The characters have 2, 3 and 4 bytes, at every distance from the limit.
  for (const std::string character : {"\u00e9", "\u20ac", "\U0001F600"}) {
    for (std::size_t ahead = 0; ahead < 4; ++ahead) {
      const std::string text = std::string(ahead, 'x') + repeated(character, 200);
      const std::size_t whole = (CUSTOM_LABELS_THREAD_MAX_VALUE - ahead) / character.size();
      INFO(character.size() << "-byte characters after " << ahead << " bytes");
      CHECK(value_after_set(text) == text.substr(0, ahead + whole * character.size()));
    }
  }
}

TEST_CASE_METHOD(NoLabels, "thread_labels: bytes that are not UTF-8 are cut at the limit") {
  const std::string text = repeated("\x80", 400);
  CHECK(value_after_set(text) == text.substr(0, CUSTOM_LABELS_THREAD_MAX_VALUE));
}

TEST_CASE_METHOD(NoLabels, "thread_labels: strings of the current set may be passed") {
  cl::replace({{"a", "first value"}, {"b", "second"}});
  const custom_labels_string_t a = custom_labels_current_set->storage[0].value;
  CHECK(custom_labels_thread_set("b", 1, a.buf, a.len) == CUSTOM_LABELS_REPLACED);
  CHECK(current_labels() == Labels{{"a", "first value"}, {"b", "first value"}});
}

TEST_CASE_METHOD(NoLabels,
                 "thread_labels: the set lies in one block, strings packed behind the array") {
  cl::replace({{"tenant", "acme"}, {"route", "/pay"}});
  const custom_labels_labelset_t* set = custom_labels_current_set;
  const auto* block = reinterpret_cast<const unsigned char*>(set);
  REQUIRE(set->count == 2);
  CHECK(reinterpret_cast<const unsigned char*>(set->storage) == block + sizeof(*set));
  CHECK(set->storage[0].key.buf == block + 344);
  CHECK(std::string_view(reinterpret_cast<const char*>(block) + 344, 19) == "tenantacmeroute/pay");
}

TEST_CASE_METHOD(NoLabels, "thread_labels: what is removed leaves no gap between the strings") {
  cl::replace({{"tenant", "acme"}, {"route", "/pay"}, {"user", "u1"}});
  cl::remove("route");
  cl::set("tenant", "x");
  const auto* block = reinterpret_cast<const char*>(custom_labels_current_set);
  CHECK(std::string_view(block + 344, 13) == "tenantxuseru1");
  CHECK(custom_labels_current_set->storage[1].value.buf ==
        reinterpret_cast<const unsigned char*>(block) + 344 + 11);
}

TEST_CASE_METHOD(NoLabels, "thread_labels: a change writes the block that was not current") {
  std::set<const void*> blocks;
  for (int i = 0; i < 100; ++i) {
    const custom_labels_labelset_t* before = custom_labels_current_set;
    cl::set("n", std::to_string(i));
    CHECK(custom_labels_current_set != before);
    blocks.insert(custom_labels_current_set);
  }
  CHECK(blocks.size() == 2);
}

TEST_CASE_METHOD(NoLabels, "thread_labels: threads have labels of their own") {
  cl::set("thread", "main");
  Labels at_start;
  Labels at_end;
  std::thread thread([&] {
    at_start = current_labels();
    cl::set("thread", "other");
    at_end = current_labels();
  });
  thread.join();
  CHECK(at_start.empty());
  CHECK(at_end == Labels{{"thread", "other"}});
  CHECK(current_labels() == Labels{{"thread", "main"}});
}

TEST_CASE_METHOD(NoLabels, "thread_labels: a forked child keeps a copy of the labels") {
  cl::set("who", "parent");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool kept = current_labels() == Labels{{"who", "parent"}};
    const bool changed = cl::set("who", "child") == CUSTOM_LABELS_REPLACED &&
                         current_labels() == Labels{{"who", "child"}};
    _exit(kept && changed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(current_labels() == Labels{{"who", "parent"}});
}

TEST_CASE_METHOD(NoLabels, "thread_labels: threads that end give their memory back") {
  const auto run_thread = [] { std::thread([] { cl::set("k", "v"); }).join(); };
  run_thread();
  const std::size_t before = allocated_bytes();
  constexpr std::size_t kThreads = 1000;
  for (std::size_t i = 0; i < kThreads; ++i) run_thread();
  // If each thread leaked one block, that would be 4 MB.
  CHECK(allocated_bytes() < before + kThreads * CUSTOM_LABELS_THREAD_BLOCK_SIZE / 10);
}

TEST_CASE_METHOD(NoLabels,
                 "thread_labels: the first call takes two blocks, and none later takes memory") {
  if (kSanitized) skip_test("the sanitizer's allocator does not count for mallinfo2");
  std::size_t before = 0;
  std::size_t after_first = 0;
  std::size_t after_all = 0;
  // This thread has no blocks yet, but has allocated before (the first time the allocator needs an
  // arena).
  std::thread([&] {
    const std::vector<LabelStep> steps = label_steps();
    before = allocated_bytes();
    steps.front().act();
    after_first = allocated_bytes();
    for (const LabelStep& step : steps) step.act();
    after_all = allocated_bytes();
  }).join();
  // The allocator's own header is added.
  constexpr std::size_t kBlocks = CUSTOM_LABELS_THREAD_MEMORY;
  CHECK(after_first - before >= kBlocks);
  CHECK(after_first - before <= kBlocks + 64);
  CHECK(after_all == after_first);
}

TEST_CASE_METHOD(NoLabels,
                 "thread_labels: without memory the first call says so and publishes nothing") {
  if (kSanitized) skip_test("a sanitizer needs the address space that this test takes away");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) std::thread([] { _exit(refuses_without_memory() ? 0 : 1); }).join();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
