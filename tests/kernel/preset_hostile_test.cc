// Programs that have a server's symbols and are none, in BPF (tests/targets/servers/fill.h): each
// sample has what the reader finds in the same memory, and samples of a sound server have their
// labels meanwhile.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "kernel/sampling.h"
#include "labelscope/observe.h"
#include "labelscope/saved_pointer.h"
#include "labelscope/target.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "support/preset_servers.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

constexpr const char* kPrograms[] = {"postgres-15", "redis-7.0", "php-fpm", "mod-php",
                                     "mariadb",     "haproxy",   "titled"};

// How many memories of random numbers there are for each program.
unsigned seeds() {
  const char* thorough = std::getenv("LABELSCOPE_THOROUGH");
  return thorough != nullptr && std::string_view(thorough) == "1" ? 1000 : 20;
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// A server that computes, and is sampled.
class Sampled {
 public:
  Sampled(const std::string& program, BpfSampler& sampler)
      : server_(preset_server_program(program), /*burns=*/true),
        plan_(plan_with(shipped_preset(server_.preset()).parse(), server_.pid())) {
    auto process = LiveProcess::open(server_.pid());
    REQUIRE(process);
    process_ = *std::move(process);
    REQUIRE(sampler.set_process(server_.pid(), plan_.recipes(), plan_.presets));
  }

  PresetServer& server() { return server_; }
  const PresetPlans& presets() const { return plan_.presets; }
  Pid pid() const { return server_.pid(); }

  // Returns what is read of its first thread without BPF.
  std::string read() const {
    const auto seen = snapshot_process(*process_, plan_, {});
    if (!seen) FAIL(seen.error().context);
    for (const ThreadSnapshot& thread : seen->threads) {
      if (thread.first) return told(thread.seen);
    }
    return "no first thread";
  }

 private:
  PresetServer server_;
  ProcessPlan plan_;
  std::unique_ptr<LiveProcess> process_;
};

bool is_of_first_thread(const TakenSample& sample, Pid pid) {
  return sample.pid == pid && raw(sample.tid) == raw(pid) &&
         !(kSavedPointerLags && sample.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER);
}

class Run {
 public:
  Run() : sampler_(open_sampler({.frequency_hz = 999})), sound_("redis-7.0", *sampler_) {
    const ServerState state = sound_.server().enter("a command runs");
    sound_truth_ = state.first;
    sound_since_ = now_ns();
  }

  // Fills the memory of a server, and compares the next sample of it.
  void compare(Sampled& hostile, const std::string& kind, unsigned seed) {
    INFO(hostile.server().name() << ", " << kind << ' ' << seed);
    taken_.presets = hostile.presets();
    taken_.presets.keep(sound_.presets());
    hostile.server().fill(kind, seed);
    const std::uint64_t since = now_ns();
    const std::string expected = hostile.read();
    taken_.samples.clear();
    std::size_t looked_at = 0;
    std::size_t compared = 0;
    drain_until(*sampler_, taken_, [&] {
      for (; looked_at < taken_.samples.size(); ++looked_at) {
        const TakenSample& sample = taken_.samples[looked_at];
        check_sound(sample);
        if (sample.time_ns < since || !is_of_first_thread(sample, hostile.pid())) continue;
        REQUIRE(told(sample.seen) == expected);
        ++compared;
      }
      return compared != 0;
    });
  }

  BpfSampler& start() {
    if (!started_) REQUIRE(sampler_->start());
    started_ = true;
    return *sampler_;
  }
  std::size_t sound_samples() const { return sound_samples_; }

 private:
  void check_sound(const TakenSample& sample) {
    if (sample.time_ns < sound_since_ || !is_of_first_thread(sample, sound_.pid())) return;
    REQUIRE(told(sample.seen) == sound_truth_);
    ++sound_samples_;
  }

  Taken taken_;
  std::unique_ptr<BpfSampler> sampler_;
  Sampled sound_;
  std::string sound_truth_;
  std::uint64_t sound_since_ = 0;
  std::size_t sound_samples_ = 0;
  bool started_ = false;
};

}  // namespace

TEST_CASE("hostile servers: a sample has what the reader finds, and a sound server its labels") {
  skip_without_ptrace();
  Run run;
  for (const char* program : kPrograms) {
    Sampled hostile(program, run.start());
    for (const std::string& kind : hostile.server().fills()) run.compare(hostile, kind, 8);
    for (unsigned seed = 0; seed < seeds(); ++seed) run.compare(hostile, "random", seed);
  }
  CHECK(run.sound_samples() > 100);
}

}  // namespace labelscope::test
