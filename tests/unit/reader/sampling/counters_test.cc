// Tests the table of counters, and counts by name as files have them.
#include "sampling/counters.h"

#include <set>

#include "support/catch.h"

using namespace labelscope;

TEST_CASE("counters: each has a name of its own, and a sentence if it is a problem") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const CounterText& text = text_of(static_cast<Counter>(i));
    INFO(text.name);
    CHECK(text.counter == static_cast<Counter>(i));
    CHECK(text.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
          std::string_view::npos);
    CHECK(names.insert(text.name).second);
    if (!text.name_once.empty()) CHECK(names.insert(text.name_once).second);
    CHECK_FALSE(text.what.empty());
    // The text about this machine follows the general one.
    CHECK((text.why_here.empty() || !text.why.empty()));
  }
  CHECK(text_of(stack_counter(LS_STACK_ROOT)).name == "stacks-complete");
  CHECK(text_of(stack_counter(LS_STACK_LEFT_OUT)).name == "stacks-left-out");
}

TEST_CASE("counters: by name they come back, whatever version has named them") {
  Counts counts;
  for (std::size_t i = 0; i < kCounterCount; ++i) counts[static_cast<Counter>(i)] = i + 1;
  counts.set("of a later version \xff", 77);
  const auto named = counts.by_name();
  CHECK(named.size() == kCounterCount + 1);
  Counts again;
  for (const auto& [name, count] : named) again.set(name, count);
  CHECK(again == counts);
  // These names are in files from before there was a table.
  Counts old;
  old.set("processes whose recipes could not be stored", 1);
  old.set("processes whose fork was not seen", 2);
  old.set("repeated reads still pending", 3);
  old.set("times that a process could not be looked at again", 4);
  CHECK(old[Counter::kRecipesNotStored] == 1);
  CHECK(old[Counter::kForksNotSeen] == 2);
  CHECK(old[Counter::kRetriesPending] == 3);
  CHECK(old[Counter::kPlansFailed] == 4);
  CHECK(old.by_name().at("forks-not-seen") == 2);
}

TEST_CASE("counters: what is 0 has no name, and sums are sums of each") {
  Counts one;
  CHECK(one.by_name().empty());
  one[Counter::kTicks] = 5;
  one.set("later", 1);
  Counts two;
  two[Counter::kTicks] = 2;
  two[Counter::kThrottled] = 3;
  two.set("later", 10);
  one += two;
  CHECK(one.by_name() ==
        std::map<std::string, std::uint64_t>{{"later", 11}, {"throttled", 3}, {"ticks", 7}});
}

TEST_CASE("counters: ends of stacks, also those of a later version") {
  Counts counts;
  counts[stack_counter(LS_STACK_TOO_DEEP)] = 3;
  counts.set("stacks-upside-down", 4);
  counts[Counter::kTicks] = 1;
  CHECK(counts.stacks_by_end() ==
        std::map<std::string, std::uint64_t>{{"too-deep", 3}, {"upside-down", 4}});
}
