// Whether ± is true: of 100 recordings of a program whose shares are known, 68 must lie within one
// standard error, and 95 within two. The program runs in cycles near the sampler's period, which is
// the worst that it can do. The times of samples are those that the deciding code draws, and their
// weights and errors those of a recording; the processor alone is made up.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "bpf/sampling/drawn_rates.h"
#include "cli/answer/summary.h"
#include "cli/profile/profile_builder.h"
#include "support/catch.h"
#include "unit/profile/fake_process.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

struct Program {
  double cycle = 1;  // in periods of the sampler
  double share = 0.5;  // of the time has the label a
};

struct Estimate {
  double share = 0;
  double error = 0;  // of it, as it is shown
};

Estimate share_of_a(const Profile& profile) {
  std::ostringstream out;
  REQUIRE(render_summary_json(profile, {"k"}, out));
  const auto json = nlohmann::json::parse(out.str());
  Estimate estimate;
  for (const auto& value : json["values"]) {
    if (value["value"] != "a") continue;
    estimate.share = value["time_ns"].get<double>() / json["time_ns"].get<double>();
    estimate.error = value["share_error"].get<double>();
  }
  return estimate;
}

// One thread has a processor for itself.
Estimate record(const Program& program, double hz, double seconds, std::uint64_t seed) {
  using Clock = DrawnRates::Clock;
  DrawnRates rates({.mean_hz = hz, .seed = seed});
  std::mt19937_64 random(seed);
  const double cycle = program.cycle / hz;
  const double phase = std::uniform_real_distribution<double>(0, cycle)(random);
  ProfileBuilder builder(0, static_cast<std::uint64_t>(1e9 / hz));
  FakeProcess process;
  const std::vector<std::byte> labels[] = {bytes({'a'}), bytes({'b'})};
  double period = 0;
  double next = 0;
  double next_change = 0;
  for (double now = 0; now < seconds; now = std::min(next, next_change)) {
    if (now >= next_change) {
      const auto at = Clock::time_point(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 + now)));
      period = 1 / rates.draw(at, {}, 1).front();
      next_change = now + std::chrono::duration<double>(rates.until_due(at)).count();
      next = now + period;
      continue;
    }
    next += period;
    Sample sample;
    sample.time_ns = sample.thread_ns = static_cast<std::uint64_t>(now * 1e9);
    sample.process = {Pid{1}, 1};
    sample.tid = Tid{1};
    sample.outcome = LS_LABELLED;
    sample.label_bytes = labels[std::fmod(now + phase, cycle) / cycle < program.share ? 0 : 1];
    builder.add(sample, process);
  }
  builder.accounts().end_thread({Pid{1}, 1}, Tid{1}, static_cast<std::uint64_t>(seconds * 1e9));
  return share_of_a(builder.take());
}

struct Within {
  int one = 0;
  int two = 0;
  int all = 0;
};

Within within(const Program& program, double hz, double seconds, int recordings) {
  Within within;
  for (int i = 0; i < recordings; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) * 1009 +
                      static_cast<std::uint64_t>(program.cycle * 1000 + program.share * 10);
    const Estimate seen = record(program, hz, seconds, seed);
    const double far = std::abs(seen.share - program.share);
    within.one += far <= seen.error ? 1 : 0;
    within.two += far <= 2 * seen.error ? 1 : 0;
    ++within.all;
  }
  return within;
}

}  // namespace

TEST_CASE("share errors: of 200 recordings 68 of 100 are within one, and 95 within two") {
  struct Rate {
    double hz;
    double seconds;
  };
  for (const Rate rate : {Rate{99, 20}, Rate{999, 2}, Rate{4999, 1}}) {
    Within all;
    for (const double cycle : {0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.5}) {
      for (const double share : {0.1, 0.5}) {
        const Within one = within({cycle, share}, rate.hz, rate.seconds, 200);
        INFO(rate.hz << " Hz, cycle " << cycle << ", share " << share << ": " << one.one << " and "
                     << one.two << " of " << one.all);
        // By chance, a number of 200 lies within 7 in two of three cases.
        CHECK(one.one >= 118);
        CHECK(one.two >= 178);
        all.one += one.one;
        all.two += one.two;
        all.all += one.all;
      }
    }
    INFO(rate.hz << " Hz, all: " << all.one << " and " << all.two << " of " << all.all);
    CHECK(all.one >= 0.66 * all.all);
    CHECK(all.two >= 0.94 * all.all);
    // Nor are they said to be much less certain than they are.
    CHECK(all.one <= 0.78 * all.all);
  }
}
