#include "cli/check/watched_process.h"

#include <algorithm>
#include <utility>

#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/outcome.h"
#include "labelscope/stopped_thread.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A process may give its threads a new name for each sample.
constexpr std::size_t kMaxDiagnostics = 200;

// Libraries are mostly loaded when a program starts. So the process is planned often then, and ever
// more rarely later.
constexpr microseconds kShortestPlanPause{200};
constexpr milliseconds kLongestPlanPause{200};
constexpr int kPartOfAge = 20;

// A process may execute one program after the other, but hardly for long so fast that none can be
// read.
constexpr int kMostAttempts = 3;

bool same_recipes(const ProcessPlan& a, const ProcessPlan& b) {
  return std::equal(a.publishers.begin(), a.publishers.end(), b.publishers.begin(),
                    b.publishers.end(), [](const Publisher& one, const Publisher& other) {
                      const ls_tls_recipe& x = one.recipe;
                      const ls_tls_recipe& y = other.recipe;
                      return one.path == other.path && x.kind == y.kind && x.offset == y.offset &&
                             x.module_id == y.module_id && x.generation == y.generation;
                    });
}

bool same_facts(const ProcessPlan& a, const ProcessPlan& b) {
  if (a.facts == nullptr || b.facts == nullptr) return a.facts == b.facts;
  return a.facts->keys == b.facts->keys && a.facts->schema == b.facts->schema &&
         std::ranges::equal(a.facts->findings, b.facts->findings, {}, &Finding::rule,
                            &Finding::rule);
}

// Under which name a finding is kept: that of the thread, or none where the process as a whole has
// made the mistake.
std::string finder_of(RuleId rule, const SetSample& sample) {
  return rule_of(rule).about == RuleSubject::kProcess ? std::string() : sample.thread;
}

// The thread, or its program, has just started and cannot have labels yet.
bool is_starting(ls_outcome outcome) {
  return outcome == LS_UNREADABLE_NOT_RELOCATED || outcome == LS_UNREADABLE_NO_THREAD_POINTER;
}

}  // namespace

bool DataFindings::is_new(const std::string& comm, const SetSample& sample) const {
  const auto known = processes_.find(comm);
  for (const Diagnostic& diagnostic : sample.check.diagnostics) {
    if (known == processes_.end()) return true;
    if (known->second.diagnostics.count({diagnostic.rule, finder_of(diagnostic.rule, sample)}) == 0)
      return true;
  }
  return false;
}

void DataFindings::add(Pid pid, const std::string& comm, SetSample&& sample) {
  ++samples_;
  threads_.insert(sample.tid);
  if (has_labels(sample.check)) ++labelled_;
  if (!sample.check.tested) return;
  ProcessGroup& entry = processes_[comm];
  if (entry.first == Pid{}) entry.first = pid;
  entry.sources.insert(sample.source);
  for (Diagnostic& diagnostic : sample.check.diagnostics) {
    const std::string finder = finder_of(diagnostic.rule, sample);
    const auto known = entry.diagnostics.find({diagnostic.rule, finder});
    if (known != entry.diagnostics.end()) {
      ++known->second.count;
      continue;
    }
    if (entry.diagnostics.size() == kMaxDiagnostics) {
      ++entry.left_out;
      continue;
    }
    if (entry.publisher.empty()) entry.publisher = sample.publisher;
    diagnostic.count = 1;
    if (!finder.empty()) {
      diagnostic.subject = "thread " + std::to_string(raw(sample.tid)) + " (" + sample.thread + ")";
    }
    entry.diagnostics.emplace(std::pair(diagnostic.rule, finder), std::move(diagnostic));
  }
}

void DataFindings::report(CheckReport& report) {
  for (auto& [comm, process] : processes_) {
    CheckedSubject subject;
    subject.name = "process " + std::to_string(raw(process.first)) + " (" + comm + ")";
    subject.publisher = std::move(process.publisher);
    for (const unsigned source : process.sources) {
      const auto rules = rules_of_threads(source, CheckDepth::kLive);
      subject.rules.insert(subject.rules.end(), rules.begin(), rules.end());
    }
    for (auto& [key, diagnostic] : process.diagnostics) {
      subject.diagnostics.push_back(std::move(diagnostic));
    }
    if (process.left_out > 0) {
      report.remarks.push_back(subject.name + ": " + std::to_string(process.left_out) +
                               " more findings in threads of other names were left out");
    }
    report.subjects.push_back(std::move(subject));
  }
  report.effort = effort();
}

CheckEffort DataFindings::effort() const {
  CheckEffort effort;
  effort.samples = samples_;
  effort.labelled = labelled_;
  effort.threads = threads_.size();
  return effort;
}

Status WatchedProcess::open() {
  auto opened = LiveProcess::open(pid_);
  if (!opened) return std::move(opened).error();
  process_ = *std::move(opened);
  comm_ = process_->comm();
  ++programs_;
  first_seen_ = Clock::now();
  plan_.reset();
  planner_ = Planner();
  return {};
}

// A plan that could not read the process's memory finds no publishers, even if there are some.
bool WatchedProcess::may_not_be_read() const {
  auto mappings = process_->mappings();
  if (!mappings || mappings->empty()) return false;
  const auto byte = read_value<std::uint8_t>(process_->memory(), mappings->front().start);
  return !byte && byte.error().code == ErrorCode::kPermission;
}

bool WatchedProcess::plan_due() const {
  if (!plan_ || plan_now_) return true;
  const auto now = Clock::now();
  const Clock::duration part = (now - first_seen_) / kPartOfAge;
  return now - planned_at_ >=
         std::clamp<Clock::duration>(part, kShortestPlanPause, kLongestPlanPause);
}

Status WatchedProcess::make_plan(LoadedFiles& files) {
  auto plan = planner_.plan(*process_);
  planned_at_ = Clock::now();
  plan_now_ = false;
  if (!plan) {
    // The planner was refused a file; the kernel's reason for refusing the process is more exact.
    const bool refused = plan.error().code == ErrorCode::kPermission;
    if (!refused) return std::move(plan).error();
    return StoppedThread::refusal(process_->seen_through(), std::move(plan).error());
  }
  const auto facts_before = plan_ ? plan_->facts : nullptr;
  plan_ = *std::move(plan);
  plan_->facts = with_history(facts_before.get(), std::move(plan_->facts));
  if (plan_->publishers.empty() && may_not_be_read()) {
    return StoppedThread::refusal(process_->seen_through(),
                                  {ErrorCode::kVanished, "the process has ended"});
  }
  files.look_at(*process_, *plan_);
  return {};
}

void WatchedProcess::read_sets(const ThreadSnapshot& thread, const MemorySource& memory,
                               Reading& reading) const {
  if (!thread.thread_pointer) return;
  for (const Publisher& publisher : plan_->publishers) {
    const Located where = locate(publisher.recipe, *thread.thread_pointer, memory);
    SetSample sample;
    sample.tid = thread.tid;
    sample.thread = thread.name;
    sample.publisher = publisher.path;
    sample.source = publisher.recipe.source;
    if (where.address) {
      const ThreadState state = thread.state_read(plan_->meanings());
      sample.check = find_source(sample.source)
                         ->check({.memory = memory,
                                  .variable = *where.address,
                                  .thread = &state,
                                  .process = process_.get()});
    } else if (is_unreadable(where.outcome)) {
      if (is_starting(where.outcome)) continue;
      ++reading.unread;
      reading.why_unread = outcome_text(where.outcome);
      continue;
    }
    reading.samples.push_back(std::move(sample));
  }
}

// On success `reading` holds the facts of the program that the plan was made for.
Result<std::uint64_t> WatchedProcess::read_threads(const std::optional<HeldThread>& held,
                                                   Reading& reading) {
  SnapshotOptions options;
  options.held = held;
  options.current_stop = current_stop_;
  options.while_held = [&](const ThreadSnapshot& thread, const MemorySource& memory) {
    read_sets(thread, memory, reading);
  };
  auto snapshot = snapshot_process(*process_, *plan_, options);
  if (!snapshot) return std::move(snapshot).error();
  for (const ThreadSnapshot& thread : snapshot->threads) {
    if (thread.problem.empty()) continue;
    ++reading.unread;
    reading.why_unread = thread.problem;
  }
  return snapshot->threads.size();
}

Result<std::uint64_t> WatchedProcess::sample(DataFindings& findings, LoadedFiles& files,
                                             const std::optional<HeldThread>& held) {
  Error last;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (process_ == nullptr || process_->has_replaced_program()) {
      if (Status status = open(); !status) return std::move(status).error();
    }
    if (plan_due()) {
      if (Status status = make_plan(files); !status) return std::move(status).error();
    }
    if (plan_->publishers.empty()) return std::uint64_t{0};
    Reading reading;
    auto threads = read_threads(held, reading);
    if (!threads) {
      last = threads.error();
      if (last.code != ErrorCode::kVanished) return last;
      process_.reset();  // the process runs another program, or has ended
      continue;
    }
    const bool news =
        std::any_of(reading.samples.begin(), reading.samples.end(),
                    [&](const SetSample& sample) { return findings.is_new(comm_, sample); });
    if (news) {
      // Find out whether the writer broke the rule, or the library was unloaded while its variable
      // was read.
      const ProcessPlan before = *plan_;
      if (Status status = make_plan(files); !status) return std::move(status).error();
      if (!same_recipes(before, *plan_) || !same_facts(before, *plan_)) continue;
    }
    for (SetSample& sample : reading.samples) findings.add(pid_, comm_, std::move(sample));
    unread_ += reading.unread;
    if (!reading.why_unread.empty()) why_unread_ = reading.why_unread;
    return *threads;
  }
  if (last.context.empty()) return std::uint64_t{0};
  return last;
}

}  // namespace labelscope::cli
