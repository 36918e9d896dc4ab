// Small parts of the check of processes: when samples are taken, and how a label set is shown.
#include <chrono>

#include "cli/check/label_set_text.h"
#include "cli/check/pace.h"
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

// Rounds of `taken` samples from `from` to `to`, on a clock of its own.
std::uint64_t samples_between(Pace& pace, nanoseconds from, nanoseconds to, std::uint64_t taken) {
  std::uint64_t samples = 0;
  for (nanoseconds now = from; now < to; now += pace.pause(now, taken)) samples += taken;
  return samples;
}

}  // namespace

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
