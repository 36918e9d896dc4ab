// The same recipes applied in the kernel. For one combination of the matrix, every burning thread
// is sampled until it has been read right a few times, and it is never read wrong.
#include <chrono>
#include <map>

#include "bpf/sampling/sampler.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "process/resolver_matrix.h"
#include "sources/label_codec.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kRightSamples = 3;
// This is far above what it takes (some scheduler turns of every thread), so that a machine may be
// busy.
constexpr std::chrono::seconds kPatience{60};

struct ThreadTally {
  const TruthThread* truth = nullptr;
  LabelPairs expected;
  unsigned right = 0;
  unsigned unreadable = 0;
  unsigned absent = 0;  // the unreadable ones of which a page was not in memory
};

class Tally final : public EventHandler {
 public:
  Tally(const MatrixCase& matrix_case, const TargetProcess& target, bool retries)
      : pid_(target.pid()),
        allocates_on_touch_(allocates_on_touch(matrix_case)),
        retries_(retries) {
    for (const TruthThread& truth : target.threads()) {
      threads_[truth.tid] = {&truth, true_labels(truth)};
    }
  }

  void on_sample(const Sample& sample) override {
    ++samples_;
    const auto found = threads_.find(sample.tid);
    if (found == threads_.end() || sample.process.pid != pid_) {
      mistakes_.push_back("a sample of thread " + std::to_string(raw(sample.tid)) +
                          ", which is none of the target's");
      return;
    }
    ThreadTally& thread = found->second;
    if (is_unreadable(sample.outcome)) {
      ++thread.unreadable;
      if (sample.outcome == LS_UNREADABLE_NOT_RESIDENT) ++thread.absent;
      last_unreadable_ = outcome_text(sample.outcome);
      return;
    }
    const Observation seen = decode_label_bytes(sample.label_bytes);
    const LabelPairs labels = sorted_pairs(seen.labels);
    const std::uint32_t flags = sample.flags | seen.flags;
    if (labels != thread.expected || (sample.outcome == LS_LABELLED) == labels.empty()) {
      mistakes_.push_back(describe(thread) + " was read as " + printable(labels) + "instead of " +
                          printable(thread.expected));
    } else if (!plausible(*thread.truth, flags)) {
      mistakes_.push_back(describe(thread) + " has the flags " + std::to_string(flags));
    } else {
      ++thread.right;
    }
  }

  void on_fork(Pid, ProcessKey) override { mistakes_.emplace_back("a fork, and the target never forks"); }
  void on_exec(ProcessKey, std::string_view) override { mistakes_.emplace_back("an exec, and the target is past its exec"); }
  void on_exit(Pid) override { mistakes_.emplace_back("an exit, and the target stays"); }
  void on_thread_end(ProcessKey, Tid, std::uint64_t) override {}
  void on_mapping(const MappingEvent&) override {}

  bool complete() const {
    for (const auto& [tid, thread] : threads_) {
      if (!is_complete(thread)) return false;
    }
    return true;
  }
  std::string missing() const {
    std::string text;
    for (const auto& [tid, thread] : threads_) {
      if (is_complete(thread)) continue;
      text += describe(thread) + ": " + std::to_string(thread.right) + " right, " +
              std::to_string(thread.unreadable) + " unreadable; ";
    }
    return text + "last reason: " + last_unreadable_;
  }
  const std::vector<std::string>& mistakes() const { return mistakes_; }
  std::uint64_t samples() const { return samples_; }

 private:
  static std::string describe(const ThreadTally& thread) {
    return thread.truth->kind + " thread " + std::to_string(raw(thread.truth->tid));
  }

  // The block of a thread that never touched it may be in a page that was never present. A kernel
  // whose BPF programs cannot wait for a page (before 6.18) cannot read it.
  bool is_complete(const ThreadTally& thread) const {
    if (thread.right >= kRightSamples) return true;
    return !retries_ && thread.truth->kind == "untouched" && thread.absent >= kRightSamples;
  }

  bool plausible(const TruthThread& truth, std::uint32_t flags) const {
    const bool duplicate = (flags & LS_DUPLICATE_KEY) != 0;
    const bool never_touched = (flags & LS_NEVER_TOUCHED) != 0;
    if (duplicate != (truth.kind == "worker")) return false;
    if (never_touched && truth.kind != "untouched") return false;
    if (allocates_on_touch_ && never_touched != (truth.kind == "untouched")) return false;
    return (flags & ~(LS_DUPLICATE_KEY | LS_NEVER_TOUCHED | LS_RETRIED)) == 0;
  }

  Pid pid_;
  bool allocates_on_touch_;
  bool retries_;
  std::map<Tid, ThreadTally> threads_;
  std::vector<std::string> mistakes_;
  std::string last_unreadable_ = "none";
  std::uint64_t samples_ = 0;
};

std::vector<ls_tls_recipe> require_recipes(Pid pid) {
  const auto process = LiveProcess::open(pid);
  if (!process) FAIL(process.error().context);
  Planner planner;
  const auto plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  REQUIRE_FALSE(plan->publishers.empty());
  std::vector<ls_tls_recipe> recipes;
  recipes.reserve(plan->publishers.size());
  for (const Publisher& publisher : plan->publishers) recipes.push_back(publisher.recipe);
  return recipes;
}

std::unique_ptr<BpfSampler> require_sampler() {
  SamplerOptions options;
  options.frequency_hz = 199;  // an emulated processor cannot do more at 999 Hz
  options.call_graph = LS_CALL_GRAPH_NONE;
  options.kernel_stacks = false;
  options.max_processes = 16;
  options.ring_bytes = 1 << 20;
  skip_without_bpf();
  auto sampler = BpfSampler::open(options);
  if (!sampler) FAIL(sampler.error().context);
  return *std::move(sampler);
}

void require_ok(const Status& status) {
  if (!status) FAIL(status.error().context);
}

}  // namespace

TEST_CASE("resolver_matrix: every burning thread is sampled with its own labels and no others") {
  const MatrixCase matrix_case = require_matrix_case();
  const std::unique_ptr<BpfSampler> sampler = require_sampler();
  const TargetProcess target = start_target(matrix_case, "burn");
  Tally tally(matrix_case, target, sampler->retries());
  require_ok(sampler->set_process(target.pid(), require_recipes(target.pid())));
  require_ok(sampler->start());
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!tally.complete() && tally.mistakes().empty() && Clock::now() < deadline) {
    require_ok(sampler->drain(tally, milliseconds(10)));
  }
  require_ok(sampler->stop(tally));

  for (const std::string& mistake : tally.mistakes()) UNSCOPED_INFO(mistake);
  CHECK(tally.mistakes().empty());
  INFO(tally.missing());
  CHECK(tally.complete());
  const Counters counters = sampler->counters();
  CHECK(tally.samples() == counters.taken - counters.dropped);
}

}  // namespace labelscope::test
