// Models of what the kernel's events count, with rates as DrawnRates gives them. No processor that
// counts cycles is needed, and time passes as the models say.
#include "bpf/sampling/drawn_rates.h"

#include <cstdint>
#include <random>
#include <vector>

#include "support/catch.h"

using namespace labelscope;

namespace {

constexpr double kStep = 2e-4;

// What a processor does: one thread that runs now and then.
struct Work {
  double seconds;
  char label;  // 'A', 'B', or 0: it is idle
};

// An event of the kernel that samples. advance() returns whether it takes a sample in this step.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool advance(bool busy) = 0;
  virtual void set_rate(double hz) = 0;  // PERF_EVENT_IOC_PERIOD
};

// cpu-clock: a timer that runs on in idle. A new period begins with the change.
class ClockEvent final : public Event {
 public:
  bool advance(bool busy) override {
    left_ -= kStep;
    if (left_ > 0) return false;
    left_ += period_;
    return busy;
  }
  void set_rate(double hz) override { left_ = period_ = 1 / hz; }

 private:
  double period_ = 1;
  double left_ = 1;
};

// Cycles: counted while the processor is busy. What was counted of a period is lost by the change.
class CycleEvent : public Event {
 public:
  bool advance(bool busy) override {
    if (!busy) return false;
    left_ -= kStep;
    if (left_ > 0) return false;
    left_ += period_;
    return true;
  }
  void set_rate(double hz) override { left_ = period_ = 1 / hz; }

 protected:
  double period_ = 1;
  double left_ = 1;
};

// Other events of software (page faults): the next one after a change is a sample, and what was
// counted of a period before it is lost.
class SoftwareEvent final : public CycleEvent {
 public:
  void set_rate(double hz) override {
    period_ = 1 / hz;
    left_ = 0;
  }
};

struct Seen {
  double samples_a_second = 0;  // of time in which the processor is busy
  double share_of_a = 0;
};

// A runs for 5 ms each time, and B for 100 ms, each for half of the busy time. `idle` is how long
// the processor is idle before each piece of A.
Seen run(Event& event, bool counts_cycles, double hz, double idle, double busy_seconds) {
  DrawnRates rates({.counts_cycles = counts_cycles, .mean_hz = hz, .seed = 1});
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> about_one(0.8, 1.2);
  std::vector<std::uint64_t> fired{0};
  double busy = 0;
  double now = 0;
  std::uint64_t seen_of_a = 0;
  const auto pass = [&](double seconds, char label) {
    for (double passed = 0; passed < seconds; passed += kStep) {
      now += kStep;
      const auto at =
          DrawnRates::Clock::time_point(std::chrono::duration_cast<DrawnRates::Clock::duration>(
              std::chrono::duration<double>(1 + now)));
      if (rates.until_due(at) <= DrawnRates::Clock::duration::zero()) {
        for (const double rate : rates.draw(at, fired, 1))
          if (rate != 0) event.set_rate(rate);
      }
      if (label != 0) busy += kStep;
      if (!event.advance(label != 0)) continue;
      ++fired[0];
      if (label == 'A') ++seen_of_a;
    }
  };
  while (busy < busy_seconds) {
    for (int i = 0; i < 20; ++i) {
      pass(idle * about_one(random), 0);
      pass(0.005, 'A');
    }
    pass(0.1, 'B');
  }
  const auto all = static_cast<double>(fired[0]);
  return {all / busy, static_cast<double>(seen_of_a) / all};
}

}  // namespace

TEST_CASE("drawn_rates: each second of a processor has its samples, however seldom it is busy") {
  // Of a hundredth, a fortieth, a tenth, and half of the time; and all of it.
  const double idle = GENERATE(0.495, 0.195, 0.045, 0.005, 0.0);
  const bool counts_cycles = GENERATE(false, true);
  ClockEvent clock;
  CycleEvent cycles;
  Event& event = counts_cycles ? static_cast<Event&>(cycles) : clock;
  const Seen seen = run(event, counts_cycles, 99, idle, 20);
  INFO((counts_cycles ? "cycles" : "clock") << ", idle for " << idle);
  CHECK(seen.samples_a_second > 0.92 * 99);
  CHECK(seen.samples_a_second < 1.08 * 99);
  CHECK(seen.share_of_a > 0.45);
  CHECK(seen.share_of_a < 0.55);
}

TEST_CASE("drawn_rates: what is lost by changes does not depend on the rate") {
  const double hz = GENERATE(19.0, 999.0);
  CycleEvent cycles;
  const Seen seen = run(cycles, true, hz, 0.095, 8000 / hz);
  INFO(hz << " Hz");
  CHECK(seen.samples_a_second > 0.9 * hz);
  CHECK(seen.samples_a_second < 1.1 * hz);
}

TEST_CASE(
    "drawn_rates: an event that does the opposite takes a sample more, not one for each look") {
  SoftwareEvent faults;
  const Seen seen = run(faults, true, 99, 0.195, 20);
  CHECK(seen.samples_a_second > 0.95 * 99);
  CHECK(seen.samples_a_second < 1.15 * 99);
}

TEST_CASE("drawn_rates: a rate is not above what the kernel allows") {
  DrawnRates rates({.counts_cycles = true, .mean_hz = 1000, .highest_hz = 800, .seed = 3});
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t fired = 100'000 * static_cast<std::uint64_t>(i);
    for (const double rate : rates.draw({}, {&fired, 1}, 1)) {
      CHECK(rate <= 800);
      CHECK(rate >= 500);
    }
  }
}

TEST_CASE(
    "drawn_rates: an event whose samples are not counted keeps its rate if it counts cycles") {
  const bool counts_cycles = GENERATE(false, true);
  DrawnRates rates({.counts_cycles = counts_cycles, .mean_hz = 99, .seed = 4});
  CHECK(rates.draw({}, {}, 2)[1] != 0);
  CHECK((rates.draw({}, {}, 2)[1] != 0) == !counts_cycles);
}
