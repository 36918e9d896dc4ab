// Tests the ledger and the samples that wait for their answer, on numbers that a test makes.
#include "bpf/wire/ledger.h"

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
std::vector<std::uint64_t> sample_words(std::uint64_t retry_id, std::uint32_t pid) {
  struct {
    ls_sample_head sample{};
    ls_label_head head{};
  } made;
  made.sample.record = {sizeof(made), LS_RECORD_SAMPLE};
  made.sample.retry_id = retry_id;
  made.sample.pid = pid;
  made.head.outcome = LS_UNREADABLE_NOT_RESIDENT;
  std::vector<std::uint64_t> words(sizeof(made) / 8);
  std::memcpy(words.data(), &made, sizeof(made));
  return words;
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

TEST_CASE("ledger: a read is pending until it was answered, dropped or had no room") {
  ls_counters counters{};
  counters.value[LS_COUNT_RETRY_SCHEDULED] = 100;
  CHECK(make_ledger(counters).pending == 100);
  std::uint64_t ended = 0;
  for (unsigned end : {LS_COUNT_RETRY_SENT, LS_COUNT_RETRY_UNSENT, LS_COUNT_DROPPED_LABELS,
                       LS_COUNT_RETRY_NO_SCRATCH}) {
    counters.value[end] = end;
    ended += end;
    CHECK(make_ledger(counters).pending == 100 - ended);
  }
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
  for (std::uint32_t id : {1U, 2U}) {
    const auto words = sample_words(id, 10 + id);
    REQUIRE(
        held.hold(id, Pid{static_cast<std::int32_t>(10 + id)}, std::as_bytes(std::span(words))));
  }
  CHECK(held.size() == 2);
  REQUIRE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  REQUIRE(out.size() == 1);
  CHECK(raw(out[0].pid) == 12);
  CHECK(out[0].labels.outcome == LS_UNLABELLED);
  CHECK_FALSE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  CHECK_FALSE(held.settle(answer_of(3, LS_UNLABELLED), keep));
  CHECK(out.size() == 1);
  held.give_up(keep);
  REQUIRE(out.size() == 2);
  CHECK(raw(out[1].pid) == 11);
  CHECK(out[1].labels.outcome == LS_UNREADABLE_VANISHED);
  CHECK(held.size() == 0);
}

TEST_CASE("held_samples: those of a process that has ended go out when it ends") {
  HeldSamples held;
  std::vector<SampleRecord> out;
  const auto keep = [&](const SampleRecord& sample) { out.push_back(sample); };
  for (std::uint32_t id : {1U, 2U, 3U}) {
    const std::uint32_t pid = id == 2 ? 12 : 11;
    const auto words = sample_words(id, pid);
    const auto bytes = std::as_bytes(std::span(words));
    REQUIRE(held.hold(id, Pid{static_cast<std::int32_t>(pid)}, bytes));
  }
  held.give_up_of(Pid{11}, keep);
  REQUIRE(out.size() == 2);
  for (const SampleRecord& sample : out) {
    CHECK(raw(sample.pid) == 11);
    CHECK(sample.labels.outcome == LS_UNREADABLE_VANISHED);
  }
  CHECK(held.size() == 1);
  REQUIRE(held.settle(answer_of(2, LS_UNLABELLED), keep));
  CHECK(out.back().labels.outcome == LS_UNLABELLED);
}

TEST_CASE("held_samples: a number that is held already is refused, and so is one too many") {
  HeldSamples held;
  const auto words = sample_words(7, 1);
  const auto bytes = std::as_bytes(std::span(words));
  REQUIRE(held.hold(0, Pid{1}, bytes));
  CHECK_FALSE(held.hold(0, Pid{1}, bytes));
  std::uint64_t id = 1;
  while (held.hold(id, Pid{1}, bytes) && id < 1'000'000) ++id;
  CHECK(held.size() == id);
  CHECK(id == HeldSamples::kMost);
}
