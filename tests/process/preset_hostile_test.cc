// Programs that have a server's symbols and are none: their memory is full of pointers to nothing,
// to themselves and to texts without an end, or of random numbers. To read them takes a bounded
// time and ends with an outcome that has a name.
#include <ctime>
#include <map>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/target.h"
#include "labelscope/variable_type.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "support/preset_servers.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

constexpr unsigned kSeeds = 1000;     // of random memory
constexpr double kMostSeconds = 0.2;  // for one reading, which takes less than a millisecond

// One program for each preset, and PHP as a library.
constexpr const char* kPrograms[] = {"postgres-15", "redis-7.0", "php-fpm", "mod-php",
                                     "mariadb",     "haproxy",   "titled"};

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

using Outcomes = std::map<std::string, unsigned>;

void check(const Observation& seen, Outcomes& outcomes) {
  ++outcomes[std::string(outcome_name(seen.outcome))];
  REQUIRE((seen.outcome == LS_LABELLED || seen.outcome == LS_UNLABELLED ||
           seen.outcome == LS_UNREADABLE_STALE || seen.outcome == LS_UNREADABLE_NOT_RESIDENT ||
           seen.outcome == LS_UNREADABLE_MALFORMED));
  REQUIRE((seen.outcome == LS_LABELLED) == !seen.labels.empty());
  REQUIRE(seen.labels.size() <= LS_PRESET_LABELS);
  for (const Label& label : seen.labels) REQUIRE(label.value.size() <= LS_VARIABLE_MAX_BYTES);
}

// A program that is read again and again.
class Reader {
 public:
  explicit Reader(const std::string& program)
      : server_(preset_server_program(program)),
        plan_(plan_with(shipped_preset(server_.preset()).parse(), server_.pid())) {
    auto process = LiveProcess::open(server_.pid());
    REQUIRE(process);
    process_ = *std::move(process);
    recipes_ = plan_.recipes();
    REQUIRE_FALSE(recipes_.empty());
    for (const ThreadSnapshot& thread : snapshot().threads) {
      threads_.push_back(thread.state_read(plan_.meanings()));
    }
  }

  void fill(const std::string& kind, unsigned seed) { server_.fill(kind, seed); }
  const std::vector<std::string>& fills() const { return server_.fills(); }

  void read(Outcomes& outcomes) {
    for (const ThreadState& thread : threads_) {
      const double before = thread_seconds();
      check(observe(recipes_, thread, process_->memory()), outcomes);
      REQUIRE(thread_seconds() - before < kMostSeconds);
    }
  }
  // As `dump` and `dump --explain` do.
  void stop_and_explain(Outcomes& outcomes) {
    for (const ThreadSnapshot& thread : snapshot().threads) check(thread.seen, outcomes);
    for (const ThreadState& thread : threads_) {
      const double before = thread_seconds();
      REQUIRE_FALSE(explain_thread(plan_, thread, process_->memory()).steps.empty());
      REQUIRE(thread_seconds() - before < kMostSeconds);
    }
  }

 private:
  ProcessSnapshot snapshot() const {
    auto seen = snapshot_process(*process_, plan_, {});
    if (!seen) FAIL(seen.error().context);
    return *std::move(seen);
  }

  PresetServer server_;
  ProcessPlan plan_;
  std::unique_ptr<LiveProcess> process_;
  std::vector<ls_tls_recipe> recipes_;
  std::vector<ThreadState> threads_;
};

}  // namespace

TEST_CASE("hostile servers: pointers to nothing, to themselves and to texts without an end") {
  skip_without_ptrace();
  for (const char* program : kPrograms) {
    INFO(program);
    Reader reader(program);
    Outcomes outcomes;
    for (const std::string& kind : reader.fills()) {
      INFO(kind);
      reader.fill(kind, 8);
      reader.read(outcomes);
      reader.stop_and_explain(outcomes);
    }
  }
}

TEST_CASE("hostile servers: a thousand memories of random numbers and pointers") {
  skip_without_ptrace();
  Outcomes outcomes;
  for (const char* program : kPrograms) {
    INFO(program);
    Reader reader(program);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      INFO("seed " << seed);
      reader.fill("random", seed);
      reader.read(outcomes);
      if (seed % 16 == 0) reader.stop_and_explain(outcomes);
    }
  }
  for (const auto& [name, count] : outcomes) UNSCOPED_INFO(name << ": " << count);
  // The memories are not so wrong that nothing behind the first step is ever read.
  CHECK(outcomes["labelled"] > 200);
  CHECK(outcomes["not-resident"] > 200);
  CHECK(outcomes["malformed"] > 200);
}

}  // namespace labelscope::test
