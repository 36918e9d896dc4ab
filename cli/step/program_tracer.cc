#include "cli/step/program_tracer.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "cli/step/thread_status.h"
#include "cli/step/ticks.h"
#include "cli/step/watchpoint.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// What this thread has not started is not its business.
constexpr int kOurs = __WALL | __WNOTHREAD;
// A thread that does not stop within this time is in the kernel, and stops before it comes back.
constexpr std::chrono::milliseconds kHoldPatience{50};
// How often threads that run freely are looked at. Less and less often where nothing is found: a
// stop can end a system call early.
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

// The kernel's time, which may be the time that others take.
bool ProgramTracer::is_in_call(const TracedThread& thread) {
  return process_ && process_->facts_at(thread.at.pc).instruction.flow == Flow::kSystemCall;
}

void ProgramTracer::handle(const Event& event) {
  if (!WIFSTOPPED(event.status)) return handle_end(event.tid, event.status);
  if (threads_.count(event.tid) == 0) {
    if (!is_there(event.tid)) return;
    adopt(event.tid);
    // Forked off by a program that has ended meanwhile: it has run nothing yet.
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

// What nearly every stop is, without a question to the kernel more than it needs. Wherever the
// thread has not moved, or may have trapped by itself, the kernel is asked.
bool ProgramTracer::handle_plain_step(TracedThread& thread, int status) {
  constexpr int kTrapped = SIGTRAP << 8 | 0x7F;
  if (status != kTrapped || !thread.stepping || !thread.stepper || blind_) return false;
  const Flow flow = process_->facts_at(thread.at.pc).instruction.flow;
  if (thread.entering_handler || flow == Flow::kSystemCall || flow == Flow::kTrap) return false;
  const auto position = read_position(thread.tid);
  if (!position || position->pc == thread.at.pc) return false;
  // Or it has executed a breakpoint that another thread's turn has put under it.
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
      return resume(thread);
    case Stop::Kind::kEnding:
      look_at(thread);
      // What goes on is over, and can be told with its place while there is memory to read.
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
  if (!position) return;  // killed as it stood still
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

// A thread that is about to run from where a breakpoint is has not come to it by executing it.
void ProgramTracer::notice_breakpoint(TracedThread& thread, const Position& position) {
  if (thread.stepper->next() != Resume::kRun || !process_->breakpoints().has(position.pc)) return;
  thread.stepper->at_breakpoint(position);
  tell_what_is_loaded();
}

void ProgramTracer::handle_breakpoint(TracedThread& thread, Position position) {
  position.pc -= kTrapAdvance;
  const bool ours = process_ && thread.shares_memory && process_->breakpoints().has(position.pc);
  // One that was taken out while this thread was already stopped at it.
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
    if (entry->second.stepper && !blind_) entry->second.stepper->finish();
    threads_.erase(entry);
  }
  if (raw(tid) != raw(pid_)) return;
  wait_status_ = status;
  kill_rest();
}

// Functions that change labels and are not known are only seen by what they leave behind.
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
    return;  // what they say of an instruction that is stepped is known anyway
  }
  if (wanted.size() > kMaxWatchpoints) wanted.resize(kMaxWatchpoints);
  if (wanted == thread.watched) return;
  if (watch_words(thread.tid, wanted)) {
    thread.watched = std::move(wanted);
  } else if (read_position(thread.tid)) {
    record_.no_watchpoints = true;
  }
}

// The instruction under a breakpoint, while nobody else runs.
void ProgramTracer::execute_alone(TracedThread& thread, const Position& position) {
  Breakpoints& breakpoints = process_->breakpoints();
  const std::vector<TracedThread*> held = hold_others(thread);
  breakpoints.lift(position.pc);
  thread.at = position;
  thread.stepping = true;
  thread.entering_handler = false;
  // A system call may wait for what the others do: it has only to begin while they are held.
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

// Waits for the stop of a thread that was interrupted. True if it did nothing else meanwhile.
bool ProgramTracer::hold(TracedThread& thread) {
  const auto deadline = Clock::now() + kHoldPatience;
  while (true) {
    int status = 0;
    const pid_t stopped = ::waitpid(raw(thread.tid), &status, kOurs | WNOHANG);
    if (stopped < 0) return false;
    if (stopped == 0) {
      // Uninterruptibly asleep: it comes back to its code by way of the stop.
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

// aarch64: from an exclusive load to behind its store, as if it were one instruction. It may wait
// there for another thread, so nobody waits for it here.
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

void ProgramTracer::stop_looking() {
  blind_ = true;
  if (!process_) return;
  for (auto& [tid, thread] : threads_) {
    if (thread.stepper) thread.stepper->finish();
  }
  process_->triggers().remove_all();
}

}  // namespace labelscope::cli
