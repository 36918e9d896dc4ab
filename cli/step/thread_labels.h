// The label sets of one thread, one for each publisher of its process. Notices their changes,
// whether stepped through or not, and tells the judge.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/step/call_stack.h"
#include "cli/step/label_watch.h"
#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/update_judge.h"

namespace labelscope::cli {

class ThreadLabels {
 public:
  ThreadLabels(Tid tid, SteppedProcess& process, StepRecord& record);

  // Finds variables that could not be found before: a thread gets some of them late. Forgets those
  // of unloaded libraries: their memory may belong to others now.
  void locate();

  // Call it after a step of the instruction at `pc`. True if a set has changed.
  bool look_after_step(const CallStack& calls, Address pc, std::uint64_t region,
                       const Interval& since, const std::vector<JumpBack>& jumps,
                       bool mapping_changed);
  // Call it after the thread has run freely. True if changes were missed.
  bool look_after_run();
  void finish_updates();

  // For watchpoints: the variables, and with `contents` some words of the sets too.
  std::vector<Address> telling_words(bool contents) const;

 private:
  using PublisherId = std::pair<std::string, Address>;  // path and load bias
  struct Variable {
    PublisherId publisher;
    LabelWatch watch;
    UpdateJudge judge;
  };
  std::vector<std::string> chain_of(const CallStack& calls, std::size_t depth, Address pc);
  Change describe(const Variable& variable, const CallStack& calls, Address pc,
                  std::uint64_t region);
  std::string subject() const;
  void count(const SetCheck& check);
  void count_updates();
  void drop_unloaded();
  bool has(const PublisherId& id) const;

  Tid tid_;
  SteppedProcess& process_;
  StepRecord& record_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::uint64_t looks_ = 0;    // of the process, when publishers that are gone were dropped
  std::uint64_t updates_ = 0;  // of all judges, as counted
};

}  // namespace labelscope::cli
