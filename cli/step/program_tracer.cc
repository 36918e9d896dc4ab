#include "cli/step/program_tracer.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <span>

#include "cli/step/traced_threads.h"

// The kernel has this name for it; C libraries do not agree on one.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace labelscope::cli {
namespace {

// This stops threads that run freely so often, to read their labels. It does so ever more rarely if
// it finds nothing, because a stop can end a system call early.
constexpr std::chrono::milliseconds kTick{10};
constexpr std::chrono::seconds kLongestInterval{1};
constexpr std::chrono::milliseconds kBetweenProgress{50};

// Wakes the calling thread out of waitpid() now and then: a program that does nothing interesting
// makes no stops, and its labels must be read all the same. A process may have one such object at a
// time.
class Ticks {
 public:
  // System calls of this thread end with EINTR at each tick, by a signal whose handler does
  // nothing.
  Ticks() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(signal_, &action, &before_);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_;
    event.sigev_notify_thread_id = ::gettid();
    has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    const timespec each{0, std::chrono::nanoseconds(kTick).count()};
    const itimerspec times{each, each};
    if (has_timer_) ::timer_settime(timer_, 0, &times, nullptr);
  }
  ~Ticks() {
    if (has_timer_) ::timer_delete(timer_);
    // A signal that is still on its way must not meet the default action, which ends the process.
    ::signal(signal_, SIG_IGN);
    ::sigaction(signal_, &before_, nullptr);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  const int signal_ = SIGRTMIN + 2;
  timer_t timer_{};
  bool has_timer_ = false;
  struct sigaction before_ {};
};

class ProgramTracer {
  using Clock = TracedThread::Clock;

 public:
  ProgramTracer(Pid pid, const TracerOptions& options, StepRecord& record)
      : pid_(pid), options_(options), record_(record), threads_(pid) {}

  Status seize() { return threads_.seize(); }

  void run() {
    record_.no_watchpoints = !watchpoints_report();
    const Ticks ticks;
    auto before = Clock::now();
    const auto on_tick = [this] {
      report_progress(Clock::now());
      interrupt_for_looks();
    };
    while (const auto event = threads_.next(on_tick)) {
      const TracedThread* thread = threads_.find(event->tid);
      const bool was_stepping = thread != nullptr && thread->stepping && !is_in_call(*thread);
      handle(*event);
      const auto now = Clock::now();
      report_progress(now);
      if (was_stepping) record_.effort.stepping += now - before;
      before = now;
      const bool enough =
          options_.max_updates != 0 && record_.effort.updates >= options_.max_updates;
      if (enough && !is_over_) stop_looking();
      // The worker is a child as well: next() would wait for it when nothing else is left.
      if (record_.wait_status) options_.namer->end();
    }
  }

 private:
  void report_progress(Clock::time_point now) {
    if (!options_.progress || now - reported_ < kBetweenProgress) return;
    reported_ = now;
    CheckEffort effort = record_.effort;
    effort.samples = 0;  // not to be shown: the updates are more exact
    options_.progress(effort);
  }

  // Returns whether the thread is at a system call. Its time does not count as stepping: the call
  // may wait.
  static bool is_in_call(const TracedThread& thread) { return thread.flow == Flow::kSystemCall; }

  void handle(const TracedThreads::Event& event) {
    if (!WIFSTOPPED(event.status)) return handle_end(event.tid, event.status);
    TracedThread* thread = threads_.find(event.tid);
    if (thread == nullptr) thread = adopt(event.tid);
    if (thread == nullptr) return;
    thread->running = false;
    handle_stop(*thread, event.status);
  }

  // Adopts a new thread, or a new process.
  TracedThread* adopt(Tid tid) {
    const Kin kin = kin_of(tid, pid_);
    if (kin == Kin::kGone) return nullptr;
    TracedThread& thread = threads_.add(tid, kin);
    if (kin != Kin::kThread) {
      ++record_.other_processes;
      if (kin == Kin::kOther && process_) process_->breakpoints().clean(Pid{raw(tid)});
    } else if (process_ && !is_over_) {
      thread.stepper = std::make_unique<ThreadStepper>(tid, *process_, record_);
    }
    // The program has forked this process and has ended. The process has not run yet.
    if (record_.wait_status) ::kill(raw(tid), SIGKILL);
    return &thread;
  }

  // The fast path: nearly every stop is a plain step, and this handles it with few system calls.
  // Returns false if the thread has not moved, or may have executed a trap of its own: then more
  // must be asked of the kernel.
  static bool is_plain_step(const TracedThread& thread, int status, const Position& position) {
    constexpr int kTrapped = SIGTRAP << 8 | 0x7F;
    if (status != kTrapped || !thread.stepping || !thread.stepper || thread.signalled) return false;
    if (thread.flow == Flow::kSystemCall || thread.flow == Flow::kTrap) return false;
    // If it is one byte on, it has executed a breakpoint instruction that was put there for another
    // thread.
    return position.pc != thread.at.pc && position.pc != thread.at.pc + kTrapAdvance;
  }

  void handle_stop(TracedThread& thread, int status) {
    take_back_exits(thread);
    auto position = read_position(thread.tid);
    if (!position) return;  // it was killed while it was stopped
    Stop stop = is_plain_step(thread, status, *position) ? Stop{Stop::Kind::kStep}
                                                         : explain_stop(thread.tid, status);
    switch (stop.kind) {
      case Stop::Kind::kHandler:
        unblock_traps(thread.tid);
        break;
      case Stop::Kind::kBreakpoint:
        if (step_back(thread, *position)) stop.signal = 0;
        break;
      case Stop::Kind::kGroupStop:
        ::ptrace(PTRACE_LISTEN, raw(thread.tid), nullptr, nullptr);
        return;
      case Stop::Kind::kExec:
        handle_exec(thread);
        break;
      default:
        break;
    }
    give_orders(thread, stop, *position);
    if (stop.kind == Stop::Kind::kEnding && thread.stepper) {
      // The current update is over. Judge it now, while the memory can still be read.
      thread.stepper->end();
      thread.stepper.reset();
    }
    resume(thread, *position, stop.signal);
  }

  // Asks the stepper once at each stop. A thread that is about to run may be at the address of a
  // breakpoint, whether it has executed the breakpoint or not: its stepper must know.
  void give_orders(TracedThread& thread, const Stop& stop, const Position& position) {
    const bool breakpoint = stop.signal == 0 && has_breakpoint(thread, position.pc);
    if (!thread.stepper) {
      thread.orders = {};
      if (breakpoint) pass_suspect(position.pc);
      return;
    }
    // It may also have been resumed by one instruction for another reason.
    const bool stepped = thread.stepping && thread.orders.how == Resume::kStep;
    thread.orders = thread.stepper->after({stop.kind, thread.at, position, stepped, breakpoint});
    if (thread.orders.look_soon) thread.look_interval = TracedThread::kFirstLook;
  }

  // After a breakpoint instruction of ours, puts the thread in front of it. Another thread may have
  // removed the breakpoint while this one was stopped at it.
  bool step_back(const TracedThread& thread, Position& position) {
    const Address at = position.pc - kTrapAdvance;
    const bool ours = has_breakpoint(thread, at) || (process_ && thread.kin != Kin::kOther &&
                                                     !process_->breakpoints().is_trap(at));
    if (!ours) return false;
    position.pc = at;
    write_pc(thread.tid, at);
    return true;
  }

  void handle_exec(TracedThread& thread) {
    if (raw(thread.tid) != raw(pid_)) {
      thread.kin = Kin::kOther;
      return;
    }
    stop_at_end(thread.tid);
    // The other threads are gone, and the remaining one has the first one's number.
    threads_.remove_all_but_first();
    if (thread.stepper) thread.stepper->finish();
    thread.stepper.reset();
    thread.watched.clear();
    process_.reset();
    if (is_over_) return;
    auto process =
        SteppedProcess::open(pid_, options_.declared, *options_.namer, options_.on_loaded);
    if (!process) {
      record_.failure = std::move(process).error();
      return;
    }
    process_ = *std::move(process);
    if (record_.no_watchpoints) process_->suspects().begin();
    thread.stepper = std::make_unique<ThreadStepper>(thread.tid, *process_, record_);
  }

  void handle_end(Tid tid, int status) {
    if (TracedThread* thread = threads_.find(tid)) {
      take_back_exits(*thread);
      if (thread->stepper) thread->stepper->end();
      threads_.remove(tid);
    }
    if (raw(tid) != raw(pid_)) return;
    record_.wait_status = status;
    threads_.kill_all();
  }

  // Stops threads that run freely, to read their labels: an unknown function that changes labels
  // can only be noticed by its effect.
  void interrupt_for_looks() {
    if (!process_ || !process_->has_begun() || record_.wait_status) return;
    const auto now = Clock::now();
    threads_.for_each([&](TracedThread& thread) {
      if (!thread.stepper || !thread.running || thread.stepping || now < thread.next_look) return;
      thread.next_look = now + thread.look_interval;
      thread.look_interval = std::min<Clock::duration>(2 * thread.look_interval, kLongestInterval);
      ::ptrace(PTRACE_INTERRUPT, raw(thread.tid), nullptr, nullptr);
    });
  }

  void stop_looking() {
    is_over_ = true;
    threads_.for_each([](TracedThread& thread) {
      if (thread.stepper) thread.stepper->finish();
      thread.stepper.reset();
      thread.orders = {};
    });
    if (process_) process_->triggers().remove_all();
  }

  // Resumes the thread as ordered.
  void resume(TracedThread& thread, const Position& position, int signal = 0) {
    Resume how = thread.orders.how;
    set_watchpoints(thread);
    // A handler may be a suspect, which has a breakpoint at its first instruction. The trap there
    // must find traps unblocked.
    if (signal != 0 && thread.stepper && process_->suspects().active()) how = Resume::kStep;
    const bool steps = how == Resume::kStep;
    thread.at = position;
    const bool alone = signal == 0 && has_breakpoint(thread, position.pc);
    thread.flow = process_ && (steps || alone) ? process_->site_at(position.pc).instruction.flow
                                               : Flow::kNext;
    if (alone) return execute_alone(thread, position);
    if (signal == 0 && steps && run_through_exclusives(thread, position)) return;
    thread.stepping = steps;
    thread.signalled = signal != 0;
    thread.running = resume_thread(thread.tid, how, signal);
  }

  bool has_breakpoint(const TracedThread& thread, Address pc) const {
    return process_ && thread.kin != Kin::kOther && process_->breakpoints().has(pc);
  }

  // This is another process in the program's memory. Letting it pass a breakpoint takes long while
  // its parent waits in vfork(), so useless breakpoints are removed.
  void pass_suspect(Address pc) {
    if (process_->triggers().at(pc) == kSuspectTrigger) process_->suspects().is_worth_stepping(pc);
  }

  void set_watchpoints(TracedThread& thread) {
    if (record_.no_watchpoints) return;
    // A step shows what the instruction writes, so watchpoints have nothing to add.
    if (thread.orders.how == Resume::kStep && !kWatchTrapsBefore) return;
    std::vector<Address>& wanted = thread.orders.watch;
    if (wanted.size() > kMaxWatchpoints) wanted.resize(kMaxWatchpoints);
    if (wanted == thread.watched) return;
    if (watch_words(thread.tid, wanted)) {
      thread.watched = wanted;
    } else if (read_position(thread.tid)) {
      record_.no_watchpoints = true;
      process_->suspects().begin();
      process_->suspects().note_labels();  // a vfork child may have labels
    }
  }

  // Executes the instruction under a breakpoint while no other thread runs.
  void execute_alone(TracedThread& thread, const Position& position) {
    const std::vector<TracedThread*> held = threads_.hold_others(thread);
    process_->breakpoints().lift(position.pc);
    thread.stepping = true;
    thread.signalled = false;
    // A system call may wait for another thread. So the others are held only until it has begun.
    const bool call = is_in_call(thread);
    thread.running =
        call ? resume_into_call(thread.tid) : resume_thread(thread.tid, Resume::kStep, 0);
    std::optional<int> status;
    if (thread.running) status = threads_.wait_for(thread);
    process_->breakpoints().put_back(position.pc);
    for (TracedThread* other : held) {
      const bool steps = other->stepping && other->exits.empty();
      other->running = resume_thread(other->tid, steps ? Resume::kStep : Resume::kRun, 0);
    }
    if (!status) return;
    const Resume how = thread.orders.how;
    const bool stepped =
        WIFSTOPPED(*status) && explain_stop(thread.tid, *status).kind == Stop::Kind::kStep;
    if (stepped && call) {
      thread.stepping = how == Resume::kStep;
      thread.running = resume_thread(thread.tid, how, 0);
    } else if (stepped && how == Resume::kRun) {
      thread.stepping = false;
      if (const auto after = read_position(thread.tid)) {
        give_orders(thread, {Stop::Kind::kChild}, *after);
        resume(thread, *after);
      }
    } else {
      threads_.put_first({thread.tid, *status});
    }
  }

  // aarch64: lets the thread run from an exclusive load past its store, as if that were one
  // instruction. The code may wait for another thread (a lock), so this does not wait for its end.
  bool run_through_exclusives(TracedThread& thread, const Position& position) {
    if (thread.flow != Flow::kExclusiveLoad) return false;
    std::array<std::byte, kExclusiveCode> code{};
    const std::size_t size = process_->breakpoints().read(position.pc, code);
    const auto exits = exits_of_exclusive_sequence(position.pc, std::span(code).first(size));
    for (Address exit : exits) {
      if (process_->breakpoints().add(exit)) thread.exits.push_back(exit);
    }
    if (thread.exits.empty()) return false;
    ++record_.exclusive_sequences;
    thread.stepping = true;
    thread.signalled = false;
    thread.running = resume_thread(thread.tid, Resume::kRun, 0);
    return true;
  }

  void take_back_exits(TracedThread& thread) {
    if (process_) {
      for (Address exit : thread.exits) process_->breakpoints().remove(exit);
    }
    thread.exits.clear();
  }

  const Pid pid_;
  const TracerOptions& options_;
  StepRecord& record_;
  std::unique_ptr<SteppedProcess> process_;  // null before the first exec
  TracedThreads threads_;
  Clock::time_point reported_;  // when progress was last reported
  // the check is over, not the program: threads only run, without steppers
  bool is_over_ = false;
};

}  // namespace

Status trace_program(Pid pid, const TracerOptions& options, StepRecord& record) {
  ProgramTracer tracer(pid, options, record);
  if (Status seized = tracer.seize(); !seized) return seized;
  if (Status released = options.release(); !released) return released;
  tracer.run();
  return {};
}

}  // namespace labelscope::cli
