// One thread of a stepped program: decides when it runs, when it is stepped, and for how long. Each
// stop comes with all that is known of it, and the answer is how to go on. (program_tracer.h stops
// and resumes the threads.)
//
// The problem: one step costs as much as tens of thousands of instructions that run. So a thread is
// stepped only where it may change labels:
//
//   main()        runs ....|                                             |.... runs
//   set_label()            |======|        |=====|        |=== return ===|
//   malloc()                      |========|     |        |
//   log()                                        |........|
//                          ^ trigger                 ^ long, and changes no label
//
//   = is stepped    . runs
//
//   - A thread runs until it comes to a trigger (triggers.h). From there it is stepped, callees
//     included, until the function in which it was triggered has returned.
//   - A callee that goes on for long without changing labels (log()) runs until it returns.
//   - If the function itself goes on for long without changing labels, its stepping ends.
//   - In a declared update everything is stepped.
//
// Without watchpoints nothing shows that labels change while a thread runs. Then nearly every
// function is a trigger, and less is left out (suspects.h, leave_out_long()).
//
// Not every function that is stepped was entered at its first instruction: a watchpoint stops a
// thread in the middle of one. Its frame is "open-ended": its return address is unknown, so the
// frame ends at the next return instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/thread_labels.h"
#include "cli/step/tracee.h"

namespace labelscope::cli {

// A stop of the thread, read once.
struct ThreadStop {
  Stop::Kind kind = Stop::Kind::kChild;
  Position before;  // where the thread was when it was resumed
  Position now;
  bool stepped = false;  // whether it was resumed by one instruction, as ordered
  // whether our breakpoint is at `now`, whether the thread has executed it or not
  bool breakpoint = false;
};

// How to resume the thread.
struct Orders {
  Resume how = Resume::kRun;
  std::vector<Address> watch{};  // the words to watch while it runs, the most useful ones first
  bool look_soon = false;        // its labels had changed while it ran freely
};

class ThreadStepper {
 public:
  ThreadStepper(Tid tid, SteppedProcess& process, StepRecord& record);
  ThreadStepper(const ThreadStepper&) = delete;
  ThreadStepper& operator=(const ThreadStepper&) = delete;

  // The thread has stopped. Returns how to resume it.
  Orders after(const ThreadStop& stop);
  // The check is over for this thread, which continues to run.
  void finish();
  // The thread is about to end, or to be killed.
  void end();

 private:
  // The thread ran and came to a breakpoint of ours.
  void at_breakpoint(const Position& position);
  // The thread ran and wrote to a watched word, or (kWatchTrapsBefore) is about to.
  void at_watchpoint(const Position& position);
  // The thread ran and was stopped so that its labels can be read, or is about to end. Returns true
  // if its labels had changed.
  bool at_any_point();
  // The thread executed the instruction at `before`.
  void after_step(const Position& before, const Position& after);
  // A signal came while the thread executed the instruction at `before`.
  void interrupted_at(const Position& before);
  // A signal handler is about to run. When it has returned, the thread continues at `resumed`.
  void enter_handler(const Position& resumed);
  // Finds the thread's variables, and returns the words to watch.
  std::vector<Address> words_to_watch();

  // The state of the thread when a signal came.
  struct Interruption {
    CallStack calls;
    Position resumed;
    std::uint64_t region = 0;
  };

  bool is_stepping() const { return !calls_.empty() && !calls_.back().free; }
  bool resume_interrupted(const Position& position);
  bool return_from_free(const Position& position);
  void pop_left(const Position& position);
  void begin_activation(const Position& position, unsigned reasons);
  void push(Frame frame);
  void push_open_ended(Address pc);
  void pop();
  void note_call(const Position& before);
  void note_step(const SteppedProcess::CodeSite& site);
  void follow_flow(const Position& before, const Position& after, Flow flow, std::size_t size);
  void note_triggers(unsigned reasons);
  void note_proven();
  void begin_region();
  void end_region();
  void learn(Address pc, bool changed);
  bool is_worth_stepping(Address suspect);
  void note_let_go();
  bool look_after_run();
  void finish_unless_interrupted();
  void leave_out_quiet();
  void leave_out_long();
  std::uint64_t allowance(const Frame& frame);
  bool leads_to_updates(Address function);
  void leave_out(std::size_t depth, bool is_base, std::uint64_t steps);
  void run_until_return(std::size_t depth);
  void abandon();

  SteppedProcess& process_;
  StepRecord& record_;
  ThreadLabels labels_;
  CallStack calls_;
  std::vector<Interruption> interrupted_;
  Interval since_;               // what happened since the last change
  std::vector<JumpBack> jumps_;  // jumps since the last change
  std::uint64_t changes_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t changed_at_step_ = 0;  // step of the last change
  bool had_labels_ = false;            // whether it had labels when stepping began
  bool about_to_leave_out_ = false;    // a function will be left out when its callees have returned
  std::uint64_t quiet_ = 0;            // steps since the last change, or since stepping began
  std::uint64_t region_ = 0;           // the declared update; 0: none
  std::uint64_t region_steps_ = 0;
  std::uint64_t next_frame_ = 1;
  std::uint64_t vain_watches_ = 0;  // writes to watched words that changed no labels
  // A function of the runtime (memcpy, free) wrote to a watched word. Its caller is known only when
  // it returns.
  bool caller_to_learn_ = false;
};

}  // namespace labelscope::cli
