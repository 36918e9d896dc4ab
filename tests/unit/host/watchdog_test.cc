// Tests when the watchdog acts: at once if it is to end the work, late if it only watches.
#include "cli/host/watchdog.h"

#include <atomic>
#include <future>

#include "support/catch.h"

using namespace labelscope::cli;
using namespace std::chrono_literals;

namespace {

constexpr auto kSoon = 5s;   // for what happens at the next look
constexpr auto kLong = 20s;  // for what happens ten seconds late

}  // namespace

TEST_CASE("watchdog: it calls the remedy when the user asks for the end, and knows no trouble") {
  std::promise<void> helped;
  Watchdog::Orders orders;
  orders.time = 1h;
  orders.cancelled = [] { return true; };
  orders.remedy = [&] { helped.set_value(); };
  Watchdog watchdog(std::move(orders));
  REQUIRE(helped.get_future().wait_for(kSoon) == std::future_status::ready);
  CHECK(watchdog.reason() == Watchdog::Reason::kCancelled);
  CHECK(watchdog.trouble().empty());
}

TEST_CASE("watchdog: it calls the remedy when the time of work that it is to end is over") {
  std::promise<void> helped;
  const auto begin = std::chrono::steady_clock::now();
  Watchdog::Orders orders;
  orders.time = 100ms;
  orders.cancelled = [] { return false; };
  orders.remedy = [&] { helped.set_value(); };
  Watchdog watchdog(std::move(orders));
  REQUIRE(helped.get_future().wait_for(kSoon) == std::future_status::ready);
  CHECK(std::chrono::steady_clock::now() - begin >= 100ms);
  CHECK(watchdog.reason() == Watchdog::Reason::kTimeout);
}

// The watchdogs run at the same time, because each takes several seconds.
TEST_CASE("watchdog: it notices what hangs") {
  const auto begin = std::chrono::steady_clock::now();
  std::promise<void> helped;
  Watchdog::Orders orders;
  orders.current_stop = [] { return std::uint64_t{7}; };
  orders.remedy = [&] { helped.set_value(); };
  Watchdog holds(std::move(orders));

  std::atomic<std::uint64_t> stop{0};
  std::promise<Watchdog::Reason> late;
  orders = {};
  orders.time = 0s;
  orders.current_stop = [&] { return ++stop; };
  orders.give_up = [&](Watchdog::Reason reason, const std::string&) { late.set_value(reason); };
  Watchdog goes_on(std::move(orders));

  std::promise<std::string> gave_up;
  orders = {};
  orders.cancelled = [] { return true; };
  orders.remedy = [] {};
  orders.give_up = [&](Watchdog::Reason, const std::string& why) { gave_up.set_value(why); };
  Watchdog helps_nothing(std::move(orders));

  std::promise<std::string> other_cause;
  orders = {};
  orders.time = 0s;
  orders.cause = "programs are loading";
  orders.give_up = [&](Watchdog::Reason, const std::string& why) { other_cause.set_value(why); };
  Watchdog other_work(std::move(orders));

  // This thread is held for too long, whatever the limit of time for the whole work.
  REQUIRE(helped.get_future().wait_for(kLong) == std::future_status::ready);
  CHECK(std::chrono::steady_clock::now() - begin >= 5s);
  CHECK(holds.reason() == Watchdog::Reason::kHeld);
  CHECK(holds.trouble().starts_with("a thread of the target was held for 5 s: "));
  // A thread that is stopped again and again is not held; but this one is far beyond its limit of
  // time.
  auto reason = late.get_future();
  REQUIRE(reason.wait_for(kLong) == std::future_status::ready);
  CHECK(std::chrono::steady_clock::now() - begin >= 10s);
  CHECK(reason.get() == Watchdog::Reason::kLate);
  // This program does not end when it is killed.
  auto why = gave_up.get_future();
  REQUIRE(why.wait_for(kLong) == std::future_status::ready);
  CHECK(why.get().starts_with("the program was killed and does not end"));
  auto other = other_cause.get_future();
  REQUIRE(other.wait_for(kLong) == std::future_status::ready);
  CHECK(other.get().ends_with("most likely because programs are loading"));
}
