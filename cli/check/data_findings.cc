#include "cli/check/data_findings.h"

#include <utility>

namespace labelscope::cli {
namespace {

// A process may give its threads a new name for each sample.
constexpr std::size_t kMaxDiagnostics = 200;

// A null pointer, or one that could not be looked at, puts no rule to the test.
bool tests_rules(const SetCheck& check) {
  return !check.diagnostics.empty() || check.ranges.size() > 1;
}

}  // namespace

bool DataFindings::is_new(const std::string& comm, const SetSample& sample) const {
  const auto known = processes_.find(comm);
  for (const Diagnostic& diagnostic : sample.check.diagnostics) {
    if (known == processes_.end()) return true;
    if (known->second.diagnostics.count({diagnostic.rule, sample.thread}) == 0) return true;
  }
  return false;
}

void DataFindings::add(Pid pid, const std::string& comm, SetSample&& sample) {
  ++samples_;
  threads_.insert(sample.tid);
  if (has_labels(sample.check)) ++labelled_;
  if (!tests_rules(sample.check)) return;
  Process& entry = processes_[comm];
  if (entry.first == Pid{}) entry.first = pid;
  for (Diagnostic& diagnostic : sample.check.diagnostics) {
    const auto known = entry.diagnostics.find({diagnostic.rule, sample.thread});
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
    diagnostic.subject = "thread " + std::to_string(raw(sample.tid)) + " (" + sample.thread + ")";
    entry.diagnostics.emplace(std::pair(diagnostic.rule, sample.thread), std::move(diagnostic));
  }
}

void DataFindings::report(CheckReport& report) {
  for (auto& [comm, process] : processes_) {
    CheckedSubject subject;
    subject.name = "process " + std::to_string(raw(process.first)) + " (" + comm + ")";
    subject.publisher = std::move(process.publisher);
    subject.rules = rules_of_label_sets(CheckDepth::kLive);
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

}  // namespace labelscope::cli
