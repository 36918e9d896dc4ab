// The label sets of one thread, one for each publisher of its process. Notices their changes,
// whether stepped through or not, and tells the judge.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/step/label_watch.h"
#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/tracee.h"
#include "cli/step/update_judge.h"

namespace labelscope::cli {

// The calls that a stepped thread is in, kept by watching its call and return instructions: exact
// also where no frame pointer and no unwind table would tell.
struct Frame {
  std::uint64_t id = 0;     // of this activation; never used again
  Address entry = 0;        // the first instruction that was seen in it
  Address called_from = 0;  // an address in the instruction that called it; 0: not known
  CallSite call;
  bool open_ended = false;            // where it returns to is not known: it ends with its return
  bool free = false;                  // runs without being stepped until it returns
  bool publisher = false;             // of a library that publishes
  bool returns_region = false;        // the declared update ends when it returns
  bool triggered = false;             // stepping began with it, at its first instruction
  std::uint64_t begun_at_change = 0;  // changes seen by the thread before it
  std::uint64_t begun_at_step = 0;
  std::uint64_t program_steps = 0;  // own instructions in the program's own code
};

// A jump to a lower address in the function of a frame: a loop, perhaps.
struct JumpBack {
  std::uint64_t frame = 0;
  Address from = 0;
};

using CallStack = std::vector<Frame>;  // the outermost first

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
  bool has_labels() const;

  // For watchpoints: the variables, and with `contents` some words of the sets too.
  std::vector<Address> telling_words(bool contents) const;

 private:
  using PublisherId = std::tuple<std::string, Address, unsigned>;  // path, load bias, label source
  struct Variable {
    PublisherId publisher;
    LabelWatch watch;
    UpdateJudge judge;
    std::uint64_t counted = 0;  // of its updates
  };
  std::vector<std::string> chain_of(const CallStack& calls, std::size_t depth, Address pc);
  Change describe(const Variable& variable, const CallStack& calls, Address pc,
                  std::uint64_t region);
  std::string subject() const;
  void count(const SetCheck& check);
  void count_updates();
  void drop_unloaded();
  static PublisherId id_of(const Publisher& publisher);
  bool has(const PublisherId& id) const;

  Tid tid_;
  SteppedProcess& process_;
  StepRecord& record_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::uint64_t looks_ = 0;  // of the process, when publishers that are gone were dropped
};

}  // namespace labelscope::cli
