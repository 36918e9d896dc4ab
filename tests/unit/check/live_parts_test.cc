// Tests small parts of the check of processes: when samples are taken, and how a label set is
// shown.
#include <algorithm>
#include <chrono>

#include "cli/check/pace.h"
#include "cli/step/label_set_text.h"
#include "support/catch.h"

namespace labelscope::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

CheckedSet set_of(std::initializer_list<std::pair<const char*, const char*>> labels) {
  CheckedSet set{CheckedSet::State::kSet, {}};
  for (const auto& [key, value] : labels) set.labels.push_back({key, value, 0});
  return set;
}

// Runs rounds of `taken` samples from `from` to `to`, on a clock of its own.
std::uint64_t samples_between(Pace& pace, nanoseconds from, nanoseconds to, std::uint64_t taken) {
  std::uint64_t samples = 0;
  for (nanoseconds now = from; now < to; now += pace.pause(now, taken)) samples += taken;
  return samples;
}

// Returns how often labels were seen in turns until `end`. The process has one thread, exists from
// `begin` on and has labels from `labelled` on. Every time that is waited for must lead to a turn.
std::uint64_t turns_with_labels(SampleTurns& turns, Pid pid, nanoseconds begin,
                                nanoseconds labelled, nanoseconds end) {
  std::uint64_t with_labels = 0;
  nanoseconds now = begin;
  while (now < end) {
    REQUIRE(turns.is_due(pid, now));
    turns.note(pid, {1, now >= labelled, 1}, now);
    with_labels += now >= labelled ? 1 : 0;
    now = turns.next(end);
  }
  return with_labels;
}

}  // namespace

TEST_CASE("turns: what is started late is sampled as closely as what was there from the start") {
  SampleTurns turns(1000, seconds(30));
  const auto early = turns_with_labels(turns, Pid{1}, seconds(0), seconds(0), milliseconds(100));
  CHECK(early > 250);
  turns.keep_only({});
  const auto late =
      turns_with_labels(turns, Pid{2}, seconds(20), seconds(20), milliseconds(20'100));
  CHECK(late > early / 2);
}

TEST_CASE("turns: labels that come late are sampled as closely as those from the start") {
  SampleTurns turns(1000, seconds(30));
  const auto late =
      turns_with_labels(turns, Pid{1}, seconds(0), milliseconds(20'005), milliseconds(20'105));
  CHECK(late > 150);
}

TEST_CASE("turns: another program in the same process begins anew") {
  SampleTurns turns(100, seconds(30));
  for (nanoseconds now{0}; now < seconds(40); now = turns.next(seconds(40))) {
    turns.note(Pid{1}, {10, true, 1}, now);
  }
  REQUIRE_FALSE(turns.is_due(Pid{1}, seconds(1000)));  // it had its hundred
  turns.note(Pid{1}, {10, true, 2}, seconds(1000));
  CHECK(turns.is_due(Pid{1}, seconds(1001)));
}

TEST_CASE("turns: a thread without labels is stopped for less than a hundredth of its time") {
  SampleTurns turns(1000, seconds(30));
  for (const std::uint64_t threads : {1, 50}) {
    turns.note(Pid{1}, {threads, false, threads}, seconds(0));
    turns.note(Pid{1}, {threads, false, threads}, seconds(20));
    const nanoseconds pause = turns.next(seconds(100)) - seconds(20);
    CHECK(pause >= milliseconds(5) * threads);
    CHECK(pause <= milliseconds(10) * threads);
  }
}

TEST_CASE("turns: each process has its own, and the next one is waited for") {
  SampleTurns turns(1000, seconds(30));
  turns.note(Pid{1}, {1, true, 1}, seconds(0));
  turns.note(Pid{1}, {1, true, 1}, seconds(10));
  const nanoseconds first = turns.next(seconds(100));
  CHECK(turns.is_due(Pid{2}, seconds(10)));
  turns.note(Pid{2}, {1, true, 1}, seconds(10));
  const nanoseconds second = turns.next(seconds(100));
  CHECK(second < first);
  CHECK(second > seconds(10));
  CHECK_FALSE(turns.is_due(Pid{1}, second));
  turns.keep_only({Pid{1}});
  CHECK(turns.next(seconds(100)) == first);
}

TEST_CASE("label_set_text: a set as people read it") {
  CHECK(label_set_text({}) == "(none)");
  CHECK(label_set_text({CheckedSet::State::kUnreadable, {}}) == "(unreadable)");
  CHECK(label_set_text(set_of({{"http.route", "/pay"}, {"tenant", "42"}})) ==
        "{http.route=/pay, tenant=42}");
}

TEST_CASE(
    "label_set_text: what could be taken for something else is quoted, and controls escaped") {
  CHECK(label_set_text(set_of({{"a", "1, b=2"}})) == "{a=\"1, b=2\"}");
  CHECK(label_set_text(set_of({{"a", ""}})) == "{a=\"\"}");
  CHECK(label_set_text(set_of({{"a", "\x1b[31m"}})).find('\x1b') == std::string::npos);
}

TEST_CASE("label_set_text: long strings and large sets are cut, and say so") {
  CheckedSet set{CheckedSet::State::kSet, {}};
  for (int i = 0; i < 1000; ++i) {
    set.labels.push_back({"key" + std::to_string(i), std::string(5000, 'x'), 0});
  }
  const std::string text = label_set_text(set);
  CHECK(text.size() < 1000);
  CHECK(text.find("...") != std::string::npos);
  CHECK(text.find(" more}") != std::string::npos);
}

TEST_CASE("label_set_texts: what differs is shown of sets that are too large to be shown whole") {
  CheckedSet before{CheckedSet::State::kSet, {}};
  for (int i = 0; i < 60; ++i) {
    before.labels.push_back({"key" + std::to_string(i), "a value of some length", 0});
  }
  CheckedSet seen = before;
  seen.labels[57].value = "b value of some length";
  CheckedSet after = seen;
  after.labels[58].value = "another value";
  const LabelSetTexts texts = label_set_texts(before, seen, after);
  CHECK(texts.before.starts_with("{key57=\"a value of some length\", key58=\"a value"));
  CHECK(texts.seen.starts_with("{key57=\"b value of some length\", key58=\"a value"));
  CHECK(
      texts.after.starts_with("{key57=\"b value of some length\", key58=\"another value\", key0="));
  CHECK(texts.after.ends_with(" more}"));
}

TEST_CASE("label_set_texts: long values are shown from where they differ") {
  const std::string same(200, 'x');
  const std::string umlauts =
      same + "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4";
  for (const std::string& start : {same, umlauts, umlauts + "y"}) {
    const CheckedSet before{CheckedSet::State::kSet, {{"key", start + "old", 0}, {same, "1", 0}}};
    CheckedSet seen = before;
    seen.labels[0].value = start + "new";
    const LabelSetTexts texts = label_set_texts(before, seen, seen);
    INFO(texts.before);
    CHECK(texts.before.starts_with("{key=..."));
    CHECK(texts.before.find("old, xxx") != std::string::npos);
    CHECK(texts.seen.find("new, xxx") != std::string::npos);
    CHECK(texts.after == texts.seen);
    CHECK(texts.before.find('\\') == std::string::npos);  // no character was cut in two
  }
}

TEST_CASE("label_set_texts: what fits, or is in another order only, stays in its order") {
  const CheckedSet before = set_of({{"b", "1"}, {"a", "2"}});
  const CheckedSet seen = set_of({{"b", "1"}, {"a", "3"}});
  const LabelSetTexts small = label_set_texts(before, seen, {});
  CHECK(small.before == "{b=1, a=2}");
  CHECK(small.seen == "{b=1, a=3}");
  CHECK(small.after == "(none)");
  CheckedSet many{CheckedSet::State::kSet, {}};
  for (int i = 0; i < 60; ++i) many.labels.push_back({"key", std::to_string(i), 0});
  CheckedSet turned = many;
  std::reverse(turned.labels.begin(), turned.labels.end());
  const LabelSetTexts texts = label_set_texts(many, turned, many);
  CHECK(texts.before.starts_with("{key=0, key=1, "));
  CHECK(texts.seen.starts_with("{key=59, key=58, "));
}

TEST_CASE("pace: even samples fill the time, whatever number a round takes") {
  for (const std::uint64_t taken : {1, 10, 100}) {
    Pace pace(Pace::Kind::kEven, 1000, seconds(2));
    const std::uint64_t samples = samples_between(pace, nanoseconds(0), seconds(2), taken);
    CHECK(samples > 600);
    CHECK(samples < 1700);
  }
}

TEST_CASE("pace: from the start, each tenfold of the time gets as many samples") {
  Pace pace(Pace::Kind::kFromStart, 1000, seconds(30));
  const std::uint64_t early = samples_between(pace, milliseconds(10), milliseconds(100), 1);
  const std::uint64_t late = samples_between(pace, milliseconds(1000), milliseconds(10000), 1);
  CHECK(early > 100);
  CHECK(early < 2 * late);
  CHECK(late < 2 * early);
  const std::uint64_t all = samples_between(pace, nanoseconds(0), seconds(30), 1);
  CHECK(all > 500);
  CHECK(all < 2000);
}

TEST_CASE("pace: a thread runs longer than it is stopped, and a second is the longest pause") {
  Pace busy(Pace::Kind::kEven, 1'000'000'000, milliseconds(1));
  CHECK(busy.pause(nanoseconds(0), 1) >= std::chrono::microseconds(100));
  Pace idle(Pace::Kind::kFromStart, 1, std::chrono::hours(1000));
  CHECK(idle.pause(std::chrono::hours(500), 1000) <= seconds(1));
}

}  // namespace labelscope::cli
