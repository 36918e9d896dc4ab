#include "cli/step/thread_stepper.h"

#include <algorithm>

#include "base/text.h"
#include "labelscope/memory.h"

namespace labelscope::cli {
namespace {

// So many jumps are remembered between two changes. Each counts once, however often it is taken.
constexpr std::size_t kMaxJumps = 64;
// The depth of signal handlers within signal handlers. A handler that leaves by longjmp() counts
// for ever.
constexpr std::size_t kMaxInterruptions = 16;
constexpr std::size_t kMaxDepth = 4096;
// After so many writes to watched words that changed no labels, only the variable is watched.
constexpr std::uint64_t kMaxVainWatches = 100;

// A call from a library that publishes into code of another author: into the program, or through a
// pointer into any other file (free() and puts() can be callbacks, too). Calls of the loader do not
// count, although they go through a pointer: the library makes one for each access to a
// thread-local variable.
bool is_callback(const SteppedProcess::CodeSite& before, const SteppedProcess::CodeSite& now) {
  const Flow flow = before.instruction.flow;
  if (flow != Flow::kCall && flow != Flow::kJump) return false;
  if (before.role != CodeRole::kPublisher) return false;
  if (now.role == CodeRole::kProgram && !now.allocates) return true;
  return before.instruction.through_register && now.role != CodeRole::kPublisher && !now.loader;
}

}  // namespace

ThreadStepper::ThreadStepper(Tid tid, SteppedProcess& process, StepRecord& record)
    : process_(process), record_(record), labels_(tid, process, record) {
  ++record.effort.threads;
}

Orders ThreadStepper::after(const ThreadStop& stop) {
  Orders orders;
  switch (stop.kind) {
    case Stop::Kind::kStep:
      if (stop.stepped) after_step(stop.before, stop.now);
      break;
    case Stop::Kind::kHandler:
      if (stop.stepped) enter_handler(stop.before);
      break;
    case Stop::Kind::kSignal:
      if (stop.stepped) interrupted_at(stop.before);
      break;
    case Stop::Kind::kWatchpoint:
      at_watchpoint(stop.now);
      break;
    case Stop::Kind::kInterrupted:
      orders.look_soon = at_any_point();
      break;
    case Stop::Kind::kEnding:
      at_any_point();
      return orders;  // it executes nothing any more
    case Stop::Kind::kBreakpoint:
    case Stop::Kind::kGroupStop:
    case Stop::Kind::kChild:
    case Stop::Kind::kExec:
    case Stop::Kind::kEnded:
      break;
  }
  if (stop.breakpoint && !is_stepping()) at_breakpoint(stop.now);
  if (is_stepping()) {
    orders.how = Resume::kStep;
  } else if (!record_.no_watchpoints) {
    orders.watch = words_to_watch();
  }
  return orders;
}

void ThreadStepper::push(Frame frame) {
  frame.id = next_frame_++;
  frame.begun_at_change = changes_;
  frame.begun_at_step = steps_;
  frame.publisher = process_.site_at(frame.entry).role == CodeRole::kPublisher;
  calls_.push_back(frame);
}

void ThreadStepper::push_open_ended(Address pc) {
  const auto function = process_.code().function_at(pc);
  Frame frame;
  frame.entry = function ? function->start : pc;
  frame.open_ended = true;
  push(frame);
}

void ThreadStepper::pop() {
  const Frame frame = calls_.back();
  calls_.pop_back();
  if (frame.triggered) {
    process_.suspects().note_call(frame.entry, frame.begun_at_change != changes_);
    note_let_go();
  }
  if (frame.free) process_.breakpoints().remove(frame.call.return_address);
  if (frame.begun_at_change == changes_) since_.callee_steps += frame.program_steps;
  if (frame.returns_region) end_region();
}

void ThreadStepper::pop_left(const Position& position) {
  while (!calls_.empty() && !calls_.back().open_ended && has_left(calls_.back().call, position)) {
    pop();
  }
}

void ThreadStepper::at_breakpoint(const Position& position) {
  if (resume_interrupted(position)) return;
  if (!return_from_free(position)) pop_left(position);
  if (calls_.empty()) finish_unless_interrupted();
  const unsigned reasons = process_.triggers().at(position.pc);
  if (reasons == 0) return;
  labels_.locate();
  look_after_run();
  if ((reasons & kProgramTrigger) != 0) {
    process_.triggers().remove(position.pc, kProgramTrigger);
    process_.begin_program();
    labels_.locate();
  }
  if ((reasons & kLoaderTrigger) != 0) process_.look_again();
  begin_activation(position, reasons);
}

void ThreadStepper::begin_activation(const Position& position, unsigned reasons) {
  constexpr unsigned kAtEntry =
      kWriterTrigger | kUpdateTrigger | kUpdateBeginTrigger | kUpdateEndTrigger | kSuspectTrigger;
  if (is_stepping() || (reasons & (kAtEntry | kReferenceTrigger)) == 0) return;
  if (reasons == kSuspectTrigger && !is_worth_stepping(position.pc)) return;
  quiet_ = 0;
  if (calls_.empty()) had_labels_ = labels_.has_labels();
  if ((reasons & kAtEntry) == 0) {
    push_open_ended(position.pc);
    return;
  }
  const auto top = read_value<Address>(process_.memory(), position.sp);
  Frame frame;
  frame.entry = position.pc;
  frame.call = call_site_at_entry(position, top ? *top : 0);
  frame.called_from = frame.call.return_address == 0 ? 0 : frame.call.return_address - 1;
  frame.triggered = true;
  push(frame);
  note_triggers(reasons);
}

void ThreadStepper::note_let_go() {
  const Suspects& suspects = process_.suspects();
  record_.functions_let_go = std::max(record_.functions_let_go, suspects.count_let_go());
  record_.functions_passed = std::max(record_.functions_passed, suspects.count_passed());
}

bool ThreadStepper::is_worth_stepping(Address suspect) {
  if (!process_.suspects().is_worth_stepping(suspect)) return false;
  if (labels_.has_labels()) return true;
  process_.suspects().note_pass(suspect);
  note_let_go();
  return false;
}

void ThreadStepper::note_triggers(unsigned reasons) {
  if ((reasons & kLoaderTrigger) != 0) process_.look_again();
  if (region_ == 0 && (reasons & (kUpdateTrigger | kUpdateBeginTrigger)) != 0) {
    begin_region();
    if ((reasons & kUpdateTrigger) != 0) calls_.back().returns_region = true;
  }
  if (region_ != 0 && (reasons & kUpdateEndTrigger) != 0) calls_.back().returns_region = true;
}

void ThreadStepper::begin_region() {
  labels_.finish_updates();
  region_ = next_frame_++;
  region_steps_ = 0;
}

void ThreadStepper::end_region() {
  labels_.finish_updates();
  region_ = 0;
  quiet_ = 0;
}

void ThreadStepper::at_watchpoint(const Position& position) {
  if (is_stepping()) return;
  // If the trap comes after the instruction, the address one byte back is within it.
  const Address writer = kWatchTrapsBefore ? position.pc : position.pc - 1;
  const auto function = process_.code().function_at(writer);
  const bool known = function && (process_.triggers().at(function->start) & kWriterTrigger) != 0;
  const bool changed = labels_.look_after_run();
  if (!changed) ++vain_watches_;
  const bool vain = !changed && (known || vain_watches_ > kMaxVainWatches);
  // If the trap comes before the instruction, what it writes is not known yet, and only a step gets
  // the thread past it.
  if (vain && !kWatchTrapsBefore) return;
  caller_to_learn_ = process_.site_at(writer).role == CodeRole::kRuntime;
  if (!known && !caller_to_learn_) learn(writer, changed);
  quiet_ = 0;
  push_open_ended(writer);
}

// Makes the function a trigger: its next call is stepped from its first instruction.
void ThreadStepper::learn(Address pc, bool changed) {
  const auto function = process_.code().function_at(pc);
  if (!function || vain_watches_ > kMaxVainWatches) return;
  if (changed) {
    StepRecord::UnseenFunction& unseen = record_.unseen_functions[function->start];
    unseen.name = source_name(function->symbol->name);
    if (unseen.name.empty()) unseen.name = "code at " + hex(process_.code().place_at(pc).address);
    ++unseen.changes;
    unseen.proven = false;
  }
  process_.triggers().add(function->start, kWriterTrigger);
}

bool ThreadStepper::at_any_point() {
  if (is_stepping()) return false;
  labels_.locate();
  return look_after_run();
}

bool ThreadStepper::look_after_run() {
  if (!labels_.look_after_run()) return false;
  if (process_.suspects().active()) {
    process_.suspects().suspect_again();
    // The change is from the function that runs freely, or from one that it called and that is let
    // go.
    if (!calls_.empty() && calls_.back().free) learn(calls_.back().entry, /*changed=*/true);
  }
  return true;
}

void ThreadStepper::after_step(const Position& before, const Position& after) {
  if (calls_.empty()) return;
  const SteppedProcess::CodeSite site = process_.site_at(before.pc);
  note_step(site);
  // A thread's TLS block may be allocated at its first use, by a function of the loader. When that
  // returns, the variable can be located.
  if (site.instruction.flow == Flow::kReturn) labels_.locate();
  const bool system_call = site.instruction.flow == Flow::kSystemCall;
  if (system_call) note_call(before);
  if (labels_.look_after_step(calls_, before.pc, region_, since_, jumps_, system_call)) {
    since_ = {};
    jumps_.clear();
    quiet_ = 0;
    ++changes_;
    changed_at_step_ = steps_;
    note_proven();
  }
  follow_flow(before, after, site.instruction.flow, site.instruction.size);
  if (!is_stepping()) {
    // These are the thread's first labels: its caller was no suspect before.
    const bool has_first_labels = process_.suspects().active() && calls_.empty() &&
                                  interrupted_.empty() && !had_labels_ && labels_.has_labels();
    had_labels_ = true;
    if (region_ == 0 && !caller_to_learn_ && !has_first_labels) {
      finish_unless_interrupted();
      return;
    }
    push_open_ended(after.pc);
    if (caller_to_learn_ && process_.site_at(after.pc).role != CodeRole::kRuntime) {
      caller_to_learn_ = false;
      learn(after.pc, true);
    }
  }
  const SteppedProcess::CodeSite next = process_.site_at(after.pc);
  if (next.role == CodeRole::kPublisher) calls_.back().publisher = true;
  // A suspect is a callee like any other.
  const unsigned reasons = process_.triggers().at(after.pc) & ~kSuspectTrigger;
  if (reasons != 0) note_triggers(reasons);
  if (region_ != 0) {
    if (++region_steps_ <= process_.max_update_steps()) return;
    ++record_.endless_regions;
    region_ = 0;
    abandon();
  } else if (reasons == 0 && !calls_.back().open_ended && is_callback(site, next)) {
    // If it calls the writer, that is a trigger like any other.
    run_until_return(calls_.size() - 1);
  } else if (process_.suspects().active()) {
    leave_out_long();
  } else {
    leave_out_quiet();
  }
}

// The thread continues without being stepped. If a signal handler came in the middle of an update,
// the update continues when the handler has returned.
void ThreadStepper::finish_unless_interrupted() {
  if (calls_.empty() && !interrupted_.empty()) return;
  since_.ran_free = true;
  labels_.finish_updates();
}

// A change has just been stepped through. The functions in which it happened, and which were
// stepped from their first instruction, no longer count as unseen.
void ThreadStepper::note_proven() {
  if (record_.unseen_functions.empty()) return;
  for (const Frame& frame : calls_) {
    if (frame.open_ended) continue;
    const auto unseen = record_.unseen_functions.find(frame.entry);
    if (unseen != record_.unseen_functions.end()) unseen->second.proven = true;
  }
}

void ThreadStepper::interrupted_at(const Position& before) {
  if (!is_stepping()) return;
  if (process_.site_at(before.pc).instruction.flow == Flow::kSystemCall) note_call(before);
}

void ThreadStepper::note_call(const Position& before) {
  if (is_waiting_call(before, process_.memory())) since_.waited = true;
}

void ThreadStepper::note_step(const SteppedProcess::CodeSite& site) {
  ++record_.effort.steps;
  ++steps_;
  ++quiet_;
  ++since_.steps;
  if (site.role != CodeRole::kProgram || site.allocates) return;
  ++calls_.back().program_steps;
  ++since_.program_steps;
}

void ThreadStepper::follow_flow(const Position& before, const Position& after, Flow flow,
                                std::size_t size) {
  if (flow == Flow::kCall && calls_.size() < kMaxDepth) {
    Frame frame;
    frame.entry = after.pc;
    frame.called_from = before.pc;
    frame.call = call_site_of(before, size);
    push(frame);
  }
  if (flow == Flow::kJump && after.pc < before.pc && jumps_.size() < kMaxJumps) {
    const Frame& top = calls_.back();
    const bool known = std::any_of(jumps_.begin(), jumps_.end(), [&](const JumpBack& jump) {
      return jump.frame == top.id && jump.from == before.pc;
    });
    if (!known) jumps_.push_back({top.id, before.pc});
  }
  if (flow == Flow::kReturn && calls_.back().open_ended) {
    pop();
    return;
  }
  pop_left(after);
}

void ThreadStepper::enter_handler(const Position& resumed) {
  if (!is_stepping() || interrupted_.size() >= kMaxInterruptions) {
    abandon();
    return;
  }
  if (!process_.breakpoints().add(resumed.pc)) return abandon();
  interrupted_.push_back({std::move(calls_), resumed, region_});
  calls_.clear();
  region_ = 0;
}

bool ThreadStepper::resume_interrupted(const Position& position) {
  if (interrupted_.empty()) return false;
  const Interruption& last = interrupted_.back();
  if (last.resumed.pc != position.pc || last.resumed.sp != position.sp) return false;
  if (!calls_.empty()) abandon();
  look_after_run();
  process_.breakpoints().remove(position.pc);
  calls_ = std::move(interrupted_.back().calls);
  region_ = interrupted_.back().region;
  interrupted_.pop_back();
  return true;
}

std::vector<Address> ThreadStepper::words_to_watch() {
  labels_.locate();
  return labels_.likely_words(vain_watches_ <= kMaxVainWatches);
}

void ThreadStepper::end() {
  abandon();
  // These are updates that a signal handler interrupted, if it never returned or its return was not
  // seen.
  for (const Interruption& interruption : interrupted_) {
    if (interruption.region != 0) ++record_.unended_regions;
  }
  finish();
  labels_.end();
}

void ThreadStepper::finish() {
  region_ = 0;
  abandon();
  for (const Interruption& interruption : interrupted_) {
    process_.breakpoints().remove(interruption.resumed.pc);
  }
  interrupted_.clear();
}

}  // namespace labelscope::cli
