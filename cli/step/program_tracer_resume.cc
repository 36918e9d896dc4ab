// How a stopped thread goes on: freely or by one instruction, with or without watchpoints, and past
// a breakpoint.
//
// Past a breakpoint is the hard case. The original instruction must be in memory for one step. But
// memory belongs to all threads: another thread could run past the breakpoint meanwhile. So all
// others are held for that step (execute_alone()).
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <span>

#include "cli/step/program_tracer.h"
#include "cli/step/thread_status.h"
#include "cli/step/watchpoint.h"

namespace labelscope::cli {
namespace {

// A thread that does not stop in this time is in the kernel. It stops before it runs user code
// again.
constexpr std::chrono::milliseconds kHoldPatience{50};

}  // namespace

void ProgramTracer::resume(TracedThread& thread, int signal) {
  const auto position = read_position(thread.tid);
  if (position) resume_at(thread, *position, signal);
}

void ProgramTracer::resume_at(TracedThread& thread, const Position& position, int signal) {
  const bool stepped = thread.stepper && !blind_;
  const Resume how = stepped ? thread.stepper->next() : Resume::kRun;
  if (stepped) set_watchpoints(thread, how);
  const bool at_breakpoint =
      process_ && thread.shares_memory && process_->breakpoints().has(position.pc);
  if (signal == 0 && at_breakpoint) return execute_alone(thread, position);
  if (signal == 0 && how == Resume::kStep && run_through_exclusives(thread, position)) return;
  thread.at = position;
  thread.stepping = how == Resume::kStep;
  thread.entering_handler = thread.stepping && signal != 0 && has_handler(thread.tid, signal);
  thread.running = resume_thread(thread.tid, how, signal);
}

void ProgramTracer::set_watchpoints(TracedThread& thread, Resume how) {
  if (record_.no_watchpoints) return;
  std::vector<Address> wanted;
  if (how == Resume::kRun) {
    wanted = thread.stepper->words_to_watch();
  } else if (!kWatchTrapsBefore) {
    return;  // a step shows what the instruction writes, so watchpoints have nothing to add
  }
  if (wanted.size() > kMaxWatchpoints) wanted.resize(kMaxWatchpoints);
  if (wanted == thread.watched) return;
  if (watch_words(thread.tid, wanted)) {
    thread.watched = std::move(wanted);
  } else if (read_position(thread.tid)) {
    record_.no_watchpoints = true;
  }
}

// Executes the instruction under a breakpoint while no other thread runs.
void ProgramTracer::execute_alone(TracedThread& thread, const Position& position) {
  Breakpoints& breakpoints = process_->breakpoints();
  const std::vector<TracedThread*> held = hold_others(thread);
  breakpoints.lift(position.pc);
  thread.at = position;
  thread.stepping = true;
  thread.entering_handler = false;
  // A system call may wait for another thread. So the others are held only until it has begun.
  const bool call = process_->facts_at(position.pc).instruction.flow == Flow::kSystemCall;
  thread.running =
      call ? resume_into_call(thread.tid) : resume_thread(thread.tid, Resume::kStep, 0);
  int status = 0;
  const pid_t stopped = thread.running ? ::waitpid(raw(thread.tid), &status, kOurs) : -1;
  breakpoints.put_back(position.pc);
  for (TracedThread* other : held) {
    const bool steps = other->stepping && other->exits.empty();
    other->running = resume_thread(other->tid, steps ? Resume::kStep : Resume::kRun, 0);
  }
  if (stopped != raw(thread.tid)) return;
  thread.running = false;
  const bool runs_freely = !thread.stepper || blind_ || thread.stepper->next() == Resume::kRun;
  const bool begun =
      call && WIFSTOPPED(status) && explain_stop(thread.tid, status).kind == Stop::Kind::kStep;
  if (begun) {
    thread.stepping = !runs_freely;
    thread.running = resume_thread(thread.tid, runs_freely ? Resume::kRun : Resume::kStep, 0);
    return;
  }
  if (WIFSTOPPED(status) && runs_freely &&
      explain_stop(thread.tid, status).kind == Stop::Kind::kStep) {
    thread.stepping = false;
    const auto after = read_position(thread.tid);
    if (after && thread.stepper && !blind_) notice_breakpoint(thread, *after);
    return resume(thread);
  }
  waiting_.push_front({thread.tid, status});
}

std::vector<ProgramTracer::TracedThread*> ProgramTracer::hold_others(const TracedThread& thread) {
  std::vector<TracedThread*> held;
  for (auto& [tid, other] : threads_) {
    if (&other == &thread || !other.running || !other.shares_memory) continue;
    ::ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr);
  }
  for (auto& [tid, other] : threads_) {
    if (&other == &thread || !other.running || !other.shares_memory) continue;
    if (hold(other)) held.push_back(&other);
  }
  return held;
}

// Waits until an interrupted thread has stopped. True if it did nothing else meanwhile.
bool ProgramTracer::hold(TracedThread& thread) {
  const auto deadline = Clock::now() + kHoldPatience;
  while (true) {
    int status = 0;
    const pid_t stopped = ::waitpid(raw(thread.tid), &status, kOurs | WNOHANG);
    if (stopped < 0) return false;
    if (stopped == 0) {
      // It sleeps in the kernel, uninterruptibly. It will stop before it runs its code again.
      if (Clock::now() >= deadline || is_uninterruptible(thread.tid)) {
        return false;
      }
      ::sched_yield();
      continue;
    }
    thread.running = false;
    if (WIFSTOPPED(status) && explain_stop(thread.tid, status).kind == Stop::Kind::kInterrupted) {
      return true;
    }
    waiting_.push_back({thread.tid, status});
    return false;
  }
}

// aarch64: lets the thread run from an exclusive load past its store, as if that were one
// instruction. The code may wait for another thread (a lock), so this does not wait for its end.
bool ProgramTracer::run_through_exclusives(TracedThread& thread, const Position& position) {
  if (process_->facts_at(position.pc).instruction.flow != Flow::kExclusiveLoad) return false;
  std::array<std::byte, kExclusiveCode> code{};
  const std::size_t size = process_->breakpoints().read(position.pc, code);
  const auto exits = exits_of_exclusive_sequence(position.pc, std::span(code).first(size));
  for (Address exit : exits) {
    if (process_->breakpoints().add(exit)) thread.exits.push_back(exit);
  }
  if (thread.exits.empty()) return false;
  ++record_.exclusive_sequences;
  thread.at = position;
  thread.stepping = true;
  thread.entering_handler = false;
  thread.running = resume_thread(thread.tid, Resume::kRun, 0);
  return true;
}

void ProgramTracer::take_back_exits(TracedThread& thread) {
  if (process_) {
    for (Address exit : thread.exits) process_->breakpoints().remove(exit);
  }
  thread.exits.clear();
}

}  // namespace labelscope::cli
