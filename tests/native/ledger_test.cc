// Tests the ledger and the samples that wait for their answer, on numbers that a test makes.
#include "bpf/wire/ledger.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bpf/sampling/held_samples.h"
#include "support/catch.h"

using namespace labelscope;

namespace {

// Every counter has a value of its own. The values are powers of two, so that no wrong sum is right
// by chance.
ls_counters distinct() {
  ls_counters counters{};
  for (unsigned i = 0; i < LS_COUNTER_COUNT; ++i) counters.value[i] = 1ULL << i;
  return counters;
}

// Makes a sample without labels and without a stack.
std::vector<std::uint64_t> sample_words(const SampleRecord& sample) {
  struct {
    ls_sample_head sample{};
    ls_label_head head{};
  } made;
  made.sample.record = {sizeof(made), LS_RECORD_SAMPLE};
  made.sample.retry_id = sample.retry_id;
  made.sample.time_ns = sample.time_ns;
  made.sample.pid = static_cast<std::uint32_t>(raw(sample.process.pid));
  made.sample.identity = sample.identity;
  made.head.outcome = LS_UNREADABLE_NOT_RESIDENT;
  std::vector<std::uint64_t> words(sizeof(made) / 8);
  std::memcpy(words.data(), &made, sizeof(made));
  return words;
}

// Each has a time of its own, later numbers an earlier one.
bool hold(HeldSamples& held, std::uint64_t retry_id, int pid, std::uint32_t identity = 1) {
  SampleRecord sample;
  sample.retry_id = retry_id;
  sample.time_ns = 1'000'000 - retry_id;
  sample.process = {Pid{pid}, 1};
  sample.identity = identity;
  const auto words = sample_words(sample);
  return held.hold(sample, std::as_bytes(std::span(words)));
}

AnswerRecord answer_of(std::uint64_t retry_id, ls_outcome outcome) {
  AnswerRecord answer{};
  answer.retry_id = retry_id;
  answer.labels.outcome = outcome;
  return answer;
}

}  // namespace

TEST_CASE("ledger: each number has its place, and none has two") {
  const ls_counters counters = distinct();
  const auto& value = counters.value;
  const Counters ledger = make_ledger(counters);
  CHECK(ledger.taken == value[LS_COUNT_TAKEN]);
  CHECK(ledger.truncated == value[LS_COUNT_TRUNCATED]);
  CHECK(ledger.dropped == value[LS_COUNT_DROPPED_SAMPLE]);
  CHECK(ledger.lost_thread_ns == value[LS_COUNT_LOST_THREAD_NS]);
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) CHECK(ledger.outcomes[i] == value[i]);
  constexpr unsigned kNamed = LS_COUNTER_COUNT - unsigned{LS_OUTCOME_COUNT};
  CHECK(ledger.others.by_name().size() == kNamed - 4);
  CHECK(ledger.others[Counter::kDroppedLabelReads] == value[LS_COUNT_DROPPED_LABELS]);
  CHECK(make_ledger({}).others.by_name().empty());
}

TEST_CASE("ledger: a read is pending until it was answered or dropped") {
  ls_counters counters{};
  counters.value[LS_COUNT_RETRY_SCHEDULED] = 100;
  CHECK(make_ledger(counters).pending == 100);
  std::uint64_t ended = 0;
  for (unsigned end : {LS_COUNT_RETRY_SENT, LS_COUNT_RETRY_UNSENT, LS_COUNT_DROPPED_LABELS}) {
    counters.value[end] = end;
    ended += end;
    CHECK(make_ledger(counters).pending == 100 - ended);
  }
  // Such a read is answered all the same.
  counters.value[LS_COUNT_RETRY_NO_SCRATCH] = 1;
  CHECK(make_ledger(counters).pending == 100 - ended);
}

TEST_CASE("ledger: it adds up with what is pending, and one sample more or less is seen") {
  ls_counters counters{};
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) counters.value[i] = i + 1;
  counters.value[LS_COUNT_RETRY_SCHEDULED] = 5;
  counters.value[LS_COUNT_DROPPED_LABELS] = 2;
  auto& taken = counters.value[LS_COUNT_TAKEN];
  taken = 3 + LS_OUTCOME_COUNT * (LS_OUTCOME_COUNT + 1) / 2;
  CHECK(adds_up(counters));
  ++taken;
  CHECK_FALSE(adds_up(counters));
  taken -= 2;
  CHECK_FALSE(adds_up(counters));
}

TEST_CASE("held_samples: an answer goes to its own sample, once") {
  HeldSamples held;
  std::vector<SampleRecord> out;
  const auto keep = [&](const SampleRecord& sample) { out.push_back(sample); };
  for (int id : {1, 2}) REQUIRE(hold(held, static_cast<std::uint64_t>(id), 10 + id));
  CHECK(held.size() == 2);
  REQUIRE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  REQUIRE(out.size() == 1);
  CHECK(raw(out[0].process.pid) == 12);
  CHECK(out[0].labels.outcome == LS_UNLABELLED);
  CHECK_FALSE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  CHECK_FALSE(held.settle(answer_of(3, LS_UNLABELLED), keep));
  CHECK(out.size() == 1);
  held.give_up(keep);
  REQUIRE(out.size() == 2);
  CHECK(raw(out[1].process.pid) == 11);
  CHECK(out[1].labels.outcome == LS_UNREADABLE_VANISHED);
  CHECK(held.size() == 0);
}

TEST_CASE("held_samples: those of a process that has ended go out when it ends") {
  HeldSamples held;
  std::vector<SampleRecord> out;
  const auto keep = [&](const SampleRecord& sample) { out.push_back(sample); };
  for (std::uint64_t id : {1U, 2U, 3U}) REQUIRE(hold(held, id, id == 2 ? 12 : 11));
  held.give_up_of(Pid{11}, keep);
  REQUIRE(out.size() == 2);
  for (const SampleRecord& sample : out) {
    CHECK(raw(sample.process.pid) == 11);
    CHECK(sample.labels.outcome == LS_UNREADABLE_VANISHED);
  }
  CHECK(held.size() == 1);
  REQUIRE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  CHECK(out.back().labels.outcome == LS_UNLABELLED);
}

TEST_CASE("held_samples: those of a thread go out in the order of their time, and no others") {
  HeldSamples held;
  std::vector<SampleRecord> out;
  const auto keep = [&](const SampleRecord& sample) { out.push_back(sample); };
  constexpr std::uint64_t kEach = 50;
  for (std::uint64_t id = 0; id < kEach; ++id) REQUIRE(hold(held, id, 11, 12));
  REQUIRE(hold(held, kEach, 11, 13));
  REQUIRE(hold(held, kEach + 1, 14, 12));
  held.give_up_of({.process = {Pid{11}, 1}, .identity = 12}, keep);
  CHECK(out.size() == kEach);
  CHECK(std::ranges::is_sorted(out, {}, &SampleRecord::time_ns));
  CHECK(held.size() == 2);
  out.clear();
  for (std::uint64_t id = 0; id < kEach; ++id) REQUIRE(hold(held, id, 11, 12));
  held.give_up(keep);
  CHECK(out.size() == kEach + 2);
  CHECK(std::ranges::is_sorted(out, {}, &SampleRecord::time_ns));
}

TEST_CASE("held_samples: a number that is held already is refused, and so is one too many") {
  HeldSamples held;
  REQUIRE(hold(held, 0, 1));
  CHECK_FALSE(hold(held, 0, 1));
  std::uint64_t id = 1;
  while (hold(held, id, 1) && id < 1'000'000) ++id;
  CHECK(held.size() == id);
  CHECK(id == HeldSamples::kMost);
}
