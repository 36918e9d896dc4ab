// The part of ThreadStepper that leaves out code: callees that run freely until they return, and
// functions that are not stepped to their end.
#include <algorithm>

#include "cli/step/thread_stepper.h"

namespace labelscope::cli {
namespace {

// A callee must have taken this many steps before it may run freely.
constexpr std::uint64_t kLongCallee = 2'000;
// Stepping that began in the middle of a function ends after this many steps without a change: it
// is not known for sure where that function ends.
constexpr std::uint64_t kQuietInTheMiddle = 2'000;
// Examining each frame of a deep recursion takes time.
constexpr std::uint64_t kStepsBetweenLooks = 64;

}  // namespace

// Nothing has changed for long: a callee runs freely until it returns, or stepping ends.
void ThreadStepper::leave_out_quiet() {
  const Frame& base = calls_.front();
  if (quiet_ <= (base.open_ended ? kQuietInTheMiddle : kStableSteps)) return;
  // The outermost callee that has been stepped for long and has changed nothing.
  const auto quiet = std::find_if(calls_.begin() + 1, calls_.end(), [&](const Frame& frame) {
    return frame.begun_at_change == changes_ && !frame.open_ended &&
           steps_ - frame.begun_at_step > kLongCallee;
  });
  if (quiet != calls_.end()) {
    run_until_return(static_cast<std::size_t>(quiet - calls_.begin()));
    return;
  }
  if (quiet_ <= 3 * kStableSteps && !base.open_ended) return;
  if (calls_.size() > 1 && !calls_[1].open_ended) {
    run_until_return(1);
    return;
  }
  if (!base.open_ended) ++record_.abandoned;
  const Address function = base.entry;
  abandon();
  process_.triggers().narrow_to_references(function, process_.disassembler());
}

// Does the same if a change that is not stepped through stays unseen (suspects.h). So this leaves
// out the innermost function that has gone on for long, when the functions that it has called have
// returned, and its callers are stepped on.
void ThreadStepper::leave_out_long() {
  if (!about_to_leave_out_ && steps_ % kStepsBetweenLooks != 0) return;
  about_to_leave_out_ = false;
  for (std::size_t i = calls_.size(); i > 0 && !calls_[i - 1].free; --i) {
    const Frame& frame = calls_[i - 1];
    const std::uint64_t since_change = steps_ - std::max(frame.begun_at_step, changed_at_step_);
    const bool is_base = i == 1 || calls_[i - 2].free;
    if (since_change <= allowance(frame)) continue;
    about_to_leave_out_ = i != calls_.size();
    if (!about_to_leave_out_) leave_out(i - 1, is_base, since_change);
    return;
  }
}

std::uint64_t ThreadStepper::allowance(const Frame& frame) {
  if (frame.open_ended) return kQuietInTheMiddle;
  if (leads_to_updates(frame.entry)) return 3 * kStableSteps;
  return process_.suspects().was_long(frame.entry) ? kLongCallee : kStableSteps;
}

// Returns whether the function is a trigger for another reason than being part of the program.
bool ThreadStepper::leads_to_updates(Address function) {
  return (process_.triggers().at(function) & ~kSuspectTrigger) != 0;
}

void ThreadStepper::leave_out(std::size_t depth, bool is_base, std::uint64_t steps) {
  const Frame frame = calls_[depth];
  // The first time, its callers are not charged for the steps that it took. If they call it again
  // and again, they are.
  if (process_.suspects().note_long(frame.entry)) {
    for (std::size_t i = 0; i < depth; ++i) calls_[i].begun_at_step += steps;
    changed_at_step_ += steps;
  }
  const bool is_writer = !frame.open_ended && leads_to_updates(frame.entry);
  if (is_writer) ++record_.abandoned;
  if (depth == 0 || frame.open_ended) {
    abandon();
  } else {
    run_until_return(depth);
  }
  if (is_base) process_.suspects().let_go(frame.entry);
  note_let_go();
  if (is_writer || frame.open_ended) {
    process_.triggers().narrow_to_references(frame.entry, process_.disassembler());
  }
}

void ThreadStepper::run_until_return(std::size_t depth) {
  while (calls_.size() > depth + 1) pop();
  Frame& frame = calls_.back();
  if (!process_.breakpoints().add(frame.call.return_address)) {
    abandon();
    return;
  }
  frame.free = true;
  since_.ran_free = true;
  labels_.finish_updates();
}

void ThreadStepper::abandon() {
  while (!calls_.empty()) {
    calls_.back().returns_region = false;
    pop();
  }
  // We do not see the end of a declared update that is left here.
  if (region_ != 0) ++record_.unended_regions;
  region_ = 0;
  caller_to_learn_ = false;
  labels_.finish_updates();
}

bool ThreadStepper::return_from_free(const Position& position) {
  const auto returned = std::find_if(calls_.rbegin(), calls_.rend(), [&](const Frame& frame) {
    return frame.free && frame.call.return_address == position.pc && has_left(frame.call, position);
  });
  if (returned == calls_.rend()) return false;
  const auto depth = static_cast<std::size_t>(calls_.rend() - returned) - 1;
  while (calls_.size() > depth + 1) pop();
  since_.ran_free = true;
  look_after_run();
  pop();
  return true;
}

}  // namespace labelscope::cli
