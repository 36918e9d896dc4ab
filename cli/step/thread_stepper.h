// One thread of a stepped program: when it runs, when it is stepped, and for how long. It is told
// of each stop and says how to go on; who stops and resumes threads is program_tracer.h.
//
// A thread runs freely until it comes to a trigger. From there it is stepped, callees included,
// until the function that began it has returned. A callee that goes on and on without changing
// labels runs freely until it returns, and is known by then; a function that does so itself is left
// alone. In a declared update nothing is left out.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/step/call_stack.h"
#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/thread_labels.h"
#include "cli/step/tracee.h"

namespace labelscope::cli {

class ThreadStepper {
 public:
  ThreadStepper(Tid tid, SteppedProcess& process, StepRecord& record);
  ThreadStepper(const ThreadStepper&) = delete;
  ThreadStepper& operator=(const ThreadStepper&) = delete;

  // How it is to go on.
  Resume next() const { return is_stepping() ? Resume::kStep : Resume::kRun; }

  // It ran freely and came to a breakpoint of ours.
  void at_breakpoint(const Position& position);
  // It ran freely and wrote to a word that is watched, or (kWatchTrapsBefore) is about to.
  void at_watchpoint(const Position& position);
  // It ran freely and was stopped for a look, or is about to end.
  void at_any_point();
  // It executed the instruction at `before`.
  void after_step(const Position& before, const Position& after);
  // A signal came while it executed the instruction at `before`.
  void interrupted_at(const Position& before);
  // A signal handler is about to run; at `resumed` it goes on afterwards.
  void enter_handler(const Position& resumed);
  // Before it runs: finds its variables, and says which words to watch.
  std::vector<Address> words_to_watch();
  // Nobody looks any more.
  void finish();
  // It is about to end, by itself or not.
  void end();

 private:
  // What it did when a signal came.
  struct Interruption {
    CallStack calls;
    Position resumed;
    std::uint64_t region = 0;
  };

  bool is_stepping() const { return !calls_.empty() && !calls_.top().free; }
  bool resume_interrupted(const Position& position);
  bool return_from_free(const Position& position);
  void drop_dead_frames(const Position& position);
  void begin_activation(const Position& position, unsigned reasons);
  void push(Frame frame);
  void push_open_ended(Address pc);
  void pop();
  void note_step(const SteppedProcess::CodeFacts& facts);
  void follow_flow(const Position& before, const Position& after, Flow flow, std::size_t size);
  void note_triggers(unsigned reasons);
  void note_proven();
  void begin_region();
  void end_region();
  void learn(Address pc, bool changed);
  void leave_out(const Position& after, const SteppedProcess::CodeFacts& before);
  bool is_callback(const SteppedProcess::CodeFacts& before,
                   const SteppedProcess::CodeFacts& now) const;
  void leave_out_quiet();
  void run_until_return(std::size_t depth);
  void abandon();

  SteppedProcess& process_;
  StepRecord& record_;
  ThreadLabels labels_;
  CallStack calls_;
  std::vector<Interruption> interrupted_;
  Interval since_;               // the last change
  std::vector<JumpBack> jumps_;  // likewise
  std::uint64_t changes_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t quiet_ = 0;   // steps since a change, or since stepping began
  std::uint64_t region_ = 0;  // declared update; 0: none
  std::uint64_t region_steps_ = 0;
  std::uint64_t next_frame_ = 1;
  std::uint64_t vain_watches_ = 0;
  // The runtime (memcpy, free) wrote for a caller that nobody knows until it returns there.
  bool caller_to_learn_ = false;
};

}  // namespace labelscope::cli
