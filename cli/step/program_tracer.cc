#include "cli/step/program_tracer.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "cli/step/thread_status.h"
#include "cli/step/ticks.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// How often this stops threads that run freely, to look at their labels. Ever more rarely if it
// finds nothing, because a stop can end a system call early.
constexpr std::chrono::milliseconds kTick{10};
constexpr std::chrono::seconds kLongestInterval{1};

}  // namespace

ProgramTracer::ProgramTracer(Pid pid, const DeclaredUpdates& declared, DebugFiles& debug_files,
                             TracerOptions options, StepRecord& record)
    : pid_(pid),
      declared_(declared),
      debug_files_(debug_files),
      options_(std::move(options)),
      record_(record) {}

Status ProgramTracer::seize() {
  if (::ptrace(PTRACE_SEIZE, raw(pid_), nullptr, trace_options()) != 0) {
    return StoppedThread::refusal(Tid{raw(pid_)});
  }
  TracedThread& thread = threads_[Tid{raw(pid_)}];
  thread.tid = Tid{raw(pid_)};
  thread.running = true;
  return {};
}

std::optional<ProgramTracer::Event> ProgramTracer::next_event() {
  if (!waiting_.empty()) {
    const Event event = waiting_.front();
    waiting_.pop_front();
    return event;
  }
  while (true) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, kOurs);
    if (tid > 0) return Event{Tid{tid}, status};
    if (errno != EINTR) return std::nullopt;
    interrupt_for_looks();
  }
}

void ProgramTracer::run() {
  const Ticks ticks(kTick);
  auto before = Clock::now();
  while (true) {
    const auto event = next_event();
    if (!event) return;
    const auto thread = threads_.find(event->tid);
    const bool was_stepping =
        thread != threads_.end() && thread->second.stepping && !is_in_call(thread->second);
    handle(*event);
    tell_counts();
    const auto now = Clock::now();
    if (was_stepping) record_.effort.stepping += now - before;
    before = now;
    if (options_.max_updates != 0 && record_.effort.updates >= options_.max_updates && !blind_) {
      stop_looking();
    }
  }
}

void ProgramTracer::tell_counts() {
  constexpr auto kAnyOrder = std::memory_order_relaxed;
  record_.counts.steps.store(record_.effort.steps, kAnyOrder);
  record_.counts.updates.store(record_.effort.updates, kAnyOrder);
  record_.counts.threads.store(record_.effort.threads, kAnyOrder);
}

// Whether the thread is at a system call. Its time is not the time of stepping: the call may wait.
bool ProgramTracer::is_in_call(const TracedThread& thread) {
  return process_ && process_->facts_at(thread.at.pc).instruction.flow == Flow::kSystemCall;
}

void ProgramTracer::handle(const Event& event) {
  if (!WIFSTOPPED(event.status)) return handle_end(event.tid, event.status);
  if (threads_.count(event.tid) == 0) {
    if (!is_there(event.tid)) return;
    adopt(event.tid);
    // The program forked it and has ended since. This process has not run yet.
    if (wait_status_) ::kill(raw(event.tid), SIGKILL);
  }
  TracedThread& thread = threads_[event.tid];
  thread.running = false;
  handle_stop(thread, event.status);
}

// A new thread, or a new process.
void ProgramTracer::adopt(Tid tid) {
  TracedThread& thread = threads_[tid];
  thread.tid = tid;
  if (belongs_to(tid, pid_)) {
    if (process_ && !blind_) {
      thread.stepper = std::make_unique<ThreadStepper>(tid, *process_, record_);
    }
    return;
  }
  ++record_.other_processes;
  if (!has_own_memory(tid, pid_)) return;
  thread.shares_memory = false;
  if (process_) process_->breakpoints().clean(Pid{raw(tid)});
}

// The fast path: nearly every stop is a plain step, and this handles it with few system calls.
// False if the thread has not moved, or may have trapped by itself: then the kernel must tell more.
bool ProgramTracer::handle_plain_step(TracedThread& thread, int status) {
  constexpr int kTrapped = SIGTRAP << 8 | 0x7F;
  if (status != kTrapped || !thread.stepping || !thread.stepper || blind_) return false;
  const Flow flow = process_->facts_at(thread.at.pc).instruction.flow;
  if (thread.entering_handler || flow == Flow::kSystemCall || flow == Flow::kTrap) return false;
  const auto position = read_position(thread.tid);
  if (!position || position->pc == thread.at.pc) return false;
  // It has executed a breakpoint instruction, which was put there for another thread.
  if (position->pc == thread.at.pc + kTrapAdvance) return false;
  thread.stepper->after_step(thread.at, *position);
  notice_breakpoint(thread, *position);
  resume_at(thread, *position, 0);
  return true;
}

void ProgramTracer::handle_stop(TracedThread& thread, int status) {
  take_back_exits(thread);
  if (handle_plain_step(thread, status)) return;
  const Stop stop = explain_stop(thread.tid, status);
  switch (stop.kind) {
    case Stop::Kind::kStep:
    case Stop::Kind::kBreakpoint:
    case Stop::Kind::kWatchpoint:
      return handle_trap(thread, stop.kind);
    case Stop::Kind::kSignal:
      if (thread.stepper && thread.stepping && !blind_) thread.stepper->interrupted_at(thread.at);
      return resume(thread, stop.signal);
    case Stop::Kind::kGroupStop:
      ::ptrace(PTRACE_LISTEN, raw(thread.tid), nullptr, nullptr);
      return;
    case Stop::Kind::kExec:
      return handle_exec(thread);
    case Stop::Kind::kInterrupted:
      look_at(thread);
      // It may stand at a breakpoint that it has not executed: resume() executes what is under it.
      if (const auto position = read_position(thread.tid); position && thread.stepper && !blind_) {
        notice_breakpoint(thread, *position);
      }
      return resume(thread);
    case Stop::Kind::kEnding:
      look_at(thread);
      // The current update is over. Judge it now, while the memory can still be read.
      if (thread.stepper && !blind_) thread.stepper->end();
      return resume(thread);
    case Stop::Kind::kClone:
    case Stop::Kind::kFork:
    case Stop::Kind::kVfork:
    case Stop::Kind::kEnded:
      return resume(thread);
  }
}

void ProgramTracer::handle_trap(TracedThread& thread, Stop::Kind kind) {
  const auto position = read_position(thread.tid);
  if (!position) return;  // somebody killed it while it was stopped
  if (kind == Stop::Kind::kBreakpoint) return handle_breakpoint(thread, *position);
  if (thread.stepper && !blind_) {
    if (kind == Stop::Kind::kWatchpoint) {
      thread.stepper->at_watchpoint(*position);
    } else if (thread.stepping && thread.entering_handler) {
      thread.stepper->enter_handler(thread.at);
    } else if (thread.stepping) {
      thread.stepper->after_step(thread.at, *position);
    }
    notice_breakpoint(thread, *position);
  }
  resume(thread);
}

// A thread may stand at the address of a breakpoint without having executed it, before it runs on
// from there. Its stepper must hear of the breakpoint, too.
void ProgramTracer::notice_breakpoint(TracedThread& thread, const Position& position) {
  if (thread.stepper->next() != Resume::kRun || !process_->breakpoints().has(position.pc)) return;
  thread.stepper->at_breakpoint(position);
  tell_what_is_loaded();
}

void ProgramTracer::handle_breakpoint(TracedThread& thread, Position position) {
  position.pc -= kTrapAdvance;
  const bool ours = process_ && thread.shares_memory && process_->breakpoints().has(position.pc);
  // Another thread may have removed the breakpoint while this one was stopped at it.
  const bool was_ours =
      !ours && process_ && thread.shares_memory && !process_->breakpoints().is_trap(position.pc);
  if (!ours && !was_ours) return resume(thread, SIGTRAP);
  write_pc(thread.tid, position.pc);
  if (ours && thread.stepper && !thread.stepping && !blind_) {
    thread.stepper->at_breakpoint(position);
    tell_what_is_loaded();
  }
  resume(thread);
}

void ProgramTracer::handle_exec(TracedThread& thread) {
  thread.shares_memory = true;
  if (raw(thread.tid) != raw(pid_)) {
    thread.shares_memory = false;
    return resume(thread);
  }
  stop_at_end(thread.tid);
  // The other threads are gone, and the one that goes on has the first one's number.
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.first != thread.tid && entry.second.stepper != nullptr;
  });
  if (thread.stepper) thread.stepper->finish();
  thread.stepper.reset();
  thread.watched.clear();
  process_.reset();
  looks_told_ = 0;
  if (blind_) return resume(thread);
  auto process = SteppedProcess::open(pid_, declared_, debug_files_);
  if (process) {
    process_ = *std::move(process);
    thread.stepper = std::make_unique<ThreadStepper>(thread.tid, *process_, record_);
    tell_what_is_loaded();
  } else {
    failure_ = std::move(process).error();
  }
  resume(thread);
}

void ProgramTracer::tell_what_is_loaded() {
  if (!process_ || process_->looks() == looks_told_) return;
  looks_told_ = process_->looks();
  if (options_.on_loaded) options_.on_loaded(*process_);
}

void ProgramTracer::handle_end(Tid tid, int status) {
  auto entry = threads_.find(tid);
  if (entry != threads_.end()) {
    take_back_exits(entry->second);
    if (entry->second.stepper && !blind_) entry->second.stepper->end();
    threads_.erase(entry);
  }
  if (raw(tid) != raw(pid_)) return;
  wait_status_ = status;
  kill_rest();
}

// Stops threads that run freely, to look at their labels: an unknown function that changes labels
// can only be noticed by its effect.
void ProgramTracer::interrupt_for_looks() {
  if (!process_ || !process_->has_begun() || blind_ || wait_status_) return;
  const auto now = Clock::now();
  for (auto& [tid, thread] : threads_) {
    if (!thread.stepper || !thread.running || thread.stepping || now < thread.next_look) continue;
    thread.next_look = now + thread.look_interval;
    thread.look_interval = std::min<Clock::duration>(2 * thread.look_interval, kLongestInterval);
    ::ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr);
  }
}

void ProgramTracer::look_at(TracedThread& thread) {
  if (!thread.stepper || blind_) return;
  const std::uint64_t unseen = record_.effort.unseen_updates;
  thread.stepper->at_any_point();
  if (record_.effort.unseen_updates != unseen) thread.look_interval = kFirstLook;
}

void ProgramTracer::kill_rest() {
  for (const auto& [tid, thread] : threads_) ::kill(raw(tid), SIGKILL);
}

void ProgramTracer::stop_looking() {
  blind_ = true;
  if (!process_) return;
  for (auto& [tid, thread] : threads_) {
    if (thread.stepper) thread.stepper->finish();
  }
  process_->triggers().remove_all();
}

}  // namespace labelscope::cli
