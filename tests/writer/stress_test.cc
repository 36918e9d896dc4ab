// Millions of updates by two threads, checked by a signal handler on the threads, a tracer that
// stops them, and a BPF program. None of them may see a set that was not set.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bpf/sampling/sampler.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "sources/label_codec.h"
#include "support/catch.h"
#include "support/rights.h"
#include "writer/checked_labels.h"
#include "writer/stressed_child.h"

namespace {

using namespace labelscope;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kStops = 200;
constexpr std::uint64_t kSamples = 500;
#else
constexpr std::uint64_t kStops = 2'000;
constexpr std::uint64_t kSamples = 5'000;
#endif
// A page may be missing for one of this number of samples, when the kernel moves memory.
constexpr std::uint64_t kNotResidentOneIn = 100;

std::vector<ls_tls_recipe> plan_recipes(pid_t pid) {
  auto process = LiveProcess::open(Pid{pid});
  INFO((process ? "" : process.error().context));
  REQUIRE(process);
  Planner planner;
  auto plan = planner.plan(**process);
  REQUIRE(plan);
  REQUIRE(plan->publishers.size() == 1);
  return {plan->publishers[0].recipe};
}

bool passes(const LabelSet& labels, unsigned thread, std::uint64_t oldest, std::uint64_t newest) {
  SetCheck check;
  for (const Label& label : labels) check.add(label.key, label.value);
  return check.passes(thread, oldest, newest);
}

std::string text(const LabelSet& labels) {
  std::string all;
  for (const Label& label : labels) all += label.key + "=" + label.value + " ";
  return all;
}

// The results of samplers outside of the process.
struct Seen {
  std::uint64_t labelled = 0;
  std::uint64_t unlabelled = 0;
  std::uint64_t not_resident = 0;
  std::vector<std::string> wrong;

  void add(const Observation& one, unsigned thread, std::uint64_t oldest, std::uint64_t newest) {
    if (one.outcome == LS_UNREADABLE_NOT_RESIDENT) {
      ++not_resident;
    } else if (is_unreadable(one.outcome)) {
      wrong.emplace_back(outcome_name(one.outcome));
    } else if (one.flags != 0 || !passes(one.labels, thread, oldest, newest)) {
      wrong.push_back("flags " + std::to_string(one.flags) + ", " + text(one.labels));
    } else {
      ++(one.outcome == LS_LABELLED ? labelled : unlabelled);
    }
  }

  void require_right() const {
    for (const std::string& one : wrong) UNSCOPED_INFO(one);
    CHECK(wrong.empty());
    CHECK(labelled > unlabelled);
  }
};

class SampleCheck final : public EventHandler {
 public:
  SampleCheck(const StressedChild& child, Seen& seen) : child_(child), seen_(seen) {}
  void on_sample(const Sample& sample) override {
    const unsigned thread = child_.number_of(raw(sample.tid));
    if (thread == StressedChild::kMostThreads) return;  // the child's first thread, which waits
    Observation one = decode_label_bytes(sample.label_bytes);
    one.outcome = sample.outcome;
    one.flags |= sample.flags & ~static_cast<std::uint32_t>(LS_RETRIED);
    // The age of the sample is not known, only that it is not of the future.
    seen_.add(one, thread, 0, child_.thread(thread).iteration.load());
  }
  void on_fork(Pid, ProcessKey) override {}
  void on_exec(ProcessKey, std::string_view) override {}
  void on_exit(Pid) override {}
  void on_thread_end(ProcessKey, Tid, std::uint64_t) override {}
  void on_mapping(const MappingEvent&) override {}

 private:
  const StressedChild& child_;
  Seen& seen_;
};

}  // namespace

TEST_CASE("stress: a signal handler sees no set that was not set") {
  StressedChild child(change_labels, 2);
  child.run_until([&] { return has_seen_enough(child); }, [&] { child.wait_a_moment(); });
  WARN(child.summary());
  CHECK(child.wrong_sets() == 0);
}

TEST_CASE("stress: a signal handler sees what a naive writer does") {
  StressedChild child(change_labels_naively, 1);
  child.run_until([&] { return child.wrong_sets() > 0; }, [&] { child.wait_a_moment(); });
  CHECK(child.wrong_sets() > 0);
}

TEST_CASE("stress: a tracer that stops the threads sees no set that was not set") {
  test::skip_without_ptrace();
  StressedChild child(change_labels, 2);
  const std::vector<ls_tls_recipe> recipes = plan_recipes(child.pid());
  const auto memory = open_process_memory(Pid{child.pid()});
  Seen seen;
  std::uint64_t stops = 0;
  const auto stop_one = [&] {
    const unsigned number = stops % child.threads();
    const StressedThread& thread = child.thread(number);
    auto stopped = StoppedThread::stop(Tid{thread.tid.load()});
    REQUIRE(stopped);
    ++stops;
    auto thread_pointer = stopped->thread_pointer();
    REQUIRE(thread_pointer);
    const std::uint64_t iteration = thread.iteration.load();
    seen.add(observe(recipes, {*thread_pointer}, *memory), number, iteration - 1, iteration);
  };
  child.run_until([&] { return has_seen_enough(child) && stops >= kStops; }, stop_one);
  WARN(child.summary() << stops << " stops: " << seen.labelled << " labelled, " << seen.unlabelled
                       << " without labels");
  CHECK(child.wrong_sets() == 0);
  CHECK(seen.not_resident == 0);
  seen.require_right();
}

TEST_CASE("stress: a BPF program at 4,999 Hz sees no set that was not set") {
  test::skip_without_bpf();
  auto opened = BpfSampler::open({.frequency_hz = 4999});
  INFO((opened ? "" : opened.error().context));
  REQUIRE(opened);
  const std::unique_ptr<BpfSampler> sampler = *std::move(opened);
  StressedChild child(change_labels, 2);
  REQUIRE(sampler->set_process(Pid{child.pid()}, plan_recipes(child.pid())));
  REQUIRE(sampler->start());
  Seen seen;
  SampleCheck check(child, seen);
  child.run_until([&] { return has_seen_enough(child) && seen.labelled >= kSamples; },
                  [&] { REQUIRE(sampler->drain(check, std::chrono::milliseconds(20))); });
  REQUIRE(sampler->stop(check));
  WARN(child.summary() << sampler->counters().taken << " samples: " << seen.labelled
                       << " labelled, " << seen.unlabelled << " without labels, "
                       << seen.not_resident << " not resident");
  CHECK(child.wrong_sets() == 0);
  CHECK(seen.not_resident <= seen.labelled / kNotResidentOneIn);
  seen.require_right();
}
