// Tests labels through the real kernel, with the limits and rules that native/ shows in made-up
// memory.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <map>

#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

std::string numbered(char first, int number, std::size_t size) {
  std::string text = first + std::to_string(number);
  text.resize(size, '.');
  return text;
}

LabelSet numbered_set(int count, std::size_t key, std::size_t value) {
  LabelSet labels;
  for (int i = 0; i < count; ++i)
    labels.push_back({numbered('k', i, key), numbered('v', i, value), 0});
  return labels;
}

// Makes labels as a child publishes them.
std::vector<custom_labels_label_t> slots_of(const LabelSet& labels) {
  std::vector<custom_labels_label_t> slots;
  for (const Label& one : labels) slots.push_back(label(one.key, one.value));
  return slots;
}

// Returns every sample of a child with these elements.
Taken samples_of(std::vector<custom_labels_label_t> slots) {
  SampledChild child([&](ChildSide& parent) {
    publish_labels(slots);
    parent.say(1);
    parent.burn_until_told();
  });
  child.hear();
  Taken taken;
  const Counters counters = sample_some({}, child, taken);
  REQUIRE(counters.dropped == 0);
  CHECK(counters.truncated == taken.with_flag(LS_TRUNCATED));
  return taken;
}

void require_all(const Taken& taken, const LabelSet& labels, std::uint32_t flags) {
  for (const TakenSample& sample : taken.samples) {
    REQUIRE(sample.seen.labels == labels);
    REQUIRE((sample.seen.flags & ~std::uint32_t{LS_RETRIED}) == flags);
    REQUIRE(sample.seen.outcome == (labels.empty() ? LS_UNLABELLED : LS_LABELLED));
  }
}

}  // namespace

TEST_CASE("sampler: ten labels of 128 and 256 bytes arrive whole") {
  LabelSet labels = numbered_set(10, 128, 256);
  require_all(samples_of(slots_of(labels)), labels, 0);
}

TEST_CASE("sampler: sixty-four labels of 8 and 8 bytes arrive whole") {
  LabelSet labels = numbered_set(64, 8, 8);
  require_all(samples_of(slots_of(labels)), labels, 0);
}

TEST_CASE("sampler: with more than sixty-four labels the sample is kept and flagged") {
  require_all(samples_of(slots_of(numbered_set(65, 8, 8))), numbered_set(64, 8, 8),
              LS_TRUNCATED_LABELS);
}

TEST_CASE("sampler: with more than 4096 bytes the sample is kept and flagged") {
  LabelSet labels = {
      {"a", std::string(4000, 'x'), 0}, {"b", std::string(96, 'y'), 0}, {"c", "z", 0}};
  require_all(samples_of(slots_of(labels)), {labels[0], labels[2]}, LS_TRUNCATED_BYTES);
}

TEST_CASE("sampler: with more than 128 elements the sample is kept and flagged") {
  auto slots = slots_of(numbered_set(3, 4, 4));
  slots.resize(200);
  require_all(samples_of(slots), numbered_set(3, 4, 4), LS_TRUNCATED_SLOTS);
}

TEST_CASE("sampler: null keys, null values and duplicates keep their rules") {
  auto slots =
      slots_of({{"a", "1", 0}, {"gone", "2", 0}, {"b", "3", 0}, {"a", "4", 0}, {"c", "", 0}});
  slots[1].key.buf = nullptr;
  slots[2].value.buf = nullptr;
  require_all(samples_of(slots), {{"a", "1", 0}, {"c", "", 0}}, LS_NULL_VALUE | LS_DUPLICATE_KEY);
}

TEST_CASE("sampler: a thread without labels is unlabelled") { require_all(samples_of({}), {}, 0); }

TEST_CASE("sampler: a process without publishers is unlabelled, one with a failed recipe is not") {
  SampledChild child([](ChildSide& parent) { parent.burn_until_told(); });
  auto sampler = open_sampler({.frequency_hz = 999});
  Taken taken;
  REQUIRE(sampler->set_process(child.pid(), {}));
  REQUIRE(sampler->start());
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNLABELLED) >= 20; });
  ls_tls_recipe none{};
  REQUIRE(sampler->set_process(child.pid(), {&none, 1}));
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNREADABLE_NO_RECIPE) >= 20; });
  ls_tls_recipe far = child.recipe();
  far.offset = 0x10'0000'0000;
  REQUIRE(sampler->set_process(child.pid(), {&far, 1}));
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNREADABLE_NOT_RESIDENT) >= 20; });
  stop_and_balance(*sampler, taken);
}

TEST_CASE("sampler: a set that contradicts itself is malformed") {
  auto slots = slots_of(numbered_set(2, 4, 4));
  slots[1].value.len = std::size_t{1} << 60;
  Taken taken = samples_of(slots);
  REQUIRE(taken.of_outcome(LS_UNREADABLE_MALFORMED) == taken.samples.size());
}

TEST_CASE("sampler: on aarch64 the top byte of a pointer is the program's own") {
  if (kHostMachine != Machine::kAarch64) skip_test("this processor ignores no byte of a pointer");
  const LabelSet labels = numbered_set(3, 8, 8);
  SampledChild child([&](ChildSide& parent) {
    const auto tag = [](auto*& pointer) {
      pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(  // NOLINT: as hardware tags it
          reinterpret_cast<std::uint64_t>(pointer) | 0x5AULL << 56);
    };
    auto slots = slots_of(labels);
    for (custom_labels_label_t& slot : slots) {
      tag(slot.key.buf);
      tag(slot.value.buf);
    }
    custom_labels_labelset_t set{slots.data(), slots.size(), slots.size()};
    tag(set.storage);
    custom_labels_labelset_t* pointer = &set;
    tag(pointer);
    publish(pointer);
    parent.say(1);
    parent.burn_until_told();
  });
  child.hear();
  Taken taken;
  sample_some({}, child, taken);
  require_all(taken, labels, 0);

  auto process = LiveProcess::open(child.pid());
  REQUIRE(process);
  auto stopped = StoppedThread::stop(Tid{raw(child.pid())});
  REQUIRE(stopped);
  const ls_tls_recipe recipe = child.recipe();
  const Observation seen =
      observe({&recipe, 1}, {stopped->thread_pointer().value()}, (*process)->memory());
  CHECK(seen.labels == labels);
}

TEST_CASE("sampler: each thread has its own labels") {
  static std::atomic<bool> finished{false};
  struct Worker {
    ChildSide* parent;
    int number;
  };
  SampledChild child([](ChildSide& parent) {
    auto work = [](void* argument) -> void* {
      auto* self = static_cast<Worker*>(argument);
      auto slots = slots_of({{"worker", std::to_string(self->number), 0}});
      publish_labels(slots);
      self->parent->say(static_cast<std::uint64_t>(gettid()));
      burn([] { return finished.load(); });
      return nullptr;
    };
    Worker workers[3] = {{&parent, 0}, {&parent, 1}, {&parent, 2}};
    pthread_t threads[3];
    // The threads come one after the other, so that the parent knows which number it receives.
    for (int i = 0; i < 3; ++i) {
      if (pthread_create(&threads[i], nullptr, work, &workers[i]) != 0) _exit(1);
      parent.wait_until_told();
      parent.take();
    }
    parent.wait_until_told();
    finished = true;
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  });
  std::map<int, std::string> truth;
  for (int i = 0; i < 3; ++i) {
    truth[static_cast<int>(child.hear())] = std::to_string(i);
    child.tell();
  }
  Taken taken;
  sample_until({.frequency_hz = 999}, child, taken, [&] {
    std::map<int, int> count;
    for (const TakenSample& sample : taken.samples) ++count[raw(sample.tid)];
    for (const auto& [tid, number] : truth) {
      if (count[tid] < 30) return false;
    }
    return true;
  });
  for (const TakenSample& sample : taken.samples) {
    auto expected = truth.find(raw(sample.tid));
    if (expected == truth.end()) continue;  // the main thread
    REQUIRE(sample.seen.labels == LabelSet{{"worker", expected->second, 0}});
  }
}
