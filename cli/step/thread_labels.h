// The label sets of one thread, one for each publisher of its process. It notices their changes,
// whether stepped through or not, and passes them to the judge.
#pragma once

#include <cstddef>
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

// A call that a stepped thread is in. Calls are kept by watching call and return instructions: this
// is exact even without frame pointers and unwind tables.
struct Frame {
  std::uint64_t id = 0;     // number of this activation; never used again
  Address entry = 0;        // the first instruction that was seen in it
  Address called_from = 0;  // an address in the instruction that called it; 0: unknown
  CallSite call;
  // its return address is unknown: it ends with the next return instruction
  bool open_ended = false;
  bool free = false;                  // runs without being stepped until it returns
  bool publisher = false;             // its code is in a library that publishes
  bool returns_region = false;        // the declared update ends when it returns
  bool triggered = false;             // stepping began at its first instruction
  std::uint64_t begun_at_change = 0;  // number of changes of the thread before it began
  std::uint64_t begun_at_step = 0;
  std::uint64_t program_steps = 0;  // its own instructions in the program's code
};

// A jump to a lower address within the function of a frame, which may be a loop.
struct JumpBack {
  std::uint64_t frame = 0;
  Address from = 0;
};

using CallStack = std::vector<Frame>;  // the outermost is first

class ThreadLabels {
 public:
  ThreadLabels(Tid tid, SteppedProcess& process, StepRecord& record);

  // Finds variables that could not be found before: a thread gets some of them late. Forgets those
  // of unloaded libraries: their memory may be used for other things now.
  void locate();

  // Call it after a step of the instruction at `pc`. Returns true if a set has changed.
  bool look_after_step(const CallStack& calls, Address pc, std::uint64_t region,
                       const Interval& since, const std::vector<JumpBack>& jumps,
                       bool mapping_changed);
  // Call it after the thread has run freely. Returns true if changes were missed.
  bool look_after_run();
  void finish_updates();
  // Call it when the thread ends, while its memory can still be read.
  void end();
  bool has_labels() const;

  // The words for watchpoints: the variables, and with `contents` some words of the sets, too.
  std::vector<Address> likely_words(bool contents) const;

 private:
  // Its path, load bias, label source, module ID and generation: a library that is loaded again may
  // be where it was before, and have another TLS block.
  using PublisherId = std::tuple<std::string, Address, unsigned, std::uint32_t, std::uint64_t>;
  struct Variable {
    PublisherId publisher;
    LabelWatch watch;
    UpdateJudge judge;
    std::uint64_t counted = 0;  // number of its updates
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
  std::uint64_t looks_ = 0;  // looks of the process when publishers that are gone were last dropped
};

}  // namespace labelscope::cli
