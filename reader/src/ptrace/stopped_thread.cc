// StoppedThread seizes, interrupts, waits, and lets go, and keeps the threads that did not stop in
// time.
//
// After the interrupt, the thread may do something else than stop:
//
//   what it does                       what becomes of it
//   stops on the way to a signal       it is held; the detach delivers the signal
//   ends                               it is collected: otherwise its process could neither end nor
//                                      exec
//   executes another program           it goes on under its process's number, still seized; it is
//                                      awaited there, and let go
//   is its process's first thread,     it is a zombie until the other threads have ended, and is
//   and ends                           awaited until then
//   sleeps uninterruptibly             it is awaited until it stops
#include "labelscope/stopped_thread.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "process/proc_fs.h"
#include "ptrace/holding.h"
#include "ptrace/ptrace_refusal.h"
#include "ptrace/register_set.h"
#include "ptrace/seized_thread.h"

namespace labelscope {
namespace {

using Clock = StoppedThread::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

#if defined(__x86_64__)
constexpr Machine kThisMachine = Machine::kX86_64;
#elif defined(__aarch64__)
constexpr Machine kThisMachine = Machine::kAarch64;
#endif

// A thread that was killed, or that executes another program, needs microseconds for that, and
// milliseconds on a loaded machine.
constexpr milliseconds kSoon{100};

// Asking one awaited thread takes a microsecond, and there may be a thousand.
constexpr milliseconds kBetweenAskingAll{10};

std::string name_of(Tid tid) { return "thread " + std::to_string(raw(tid)); }

// The pause between two looks at a thread. Mostly the thread stops at once: if it runs, after one
// interrupt; if it sleeps, when it gets a processor. A blocking waitid() would be simpler, but it
// has no deadline. sched_yield() would give away this thread's whole turn on the processor: a
// thread that stops meanwhile would be held for as long as other programs run.
class Pause {
 public:
  void wait() {
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, kLongest);
    ++sleeps_;
  }
  // Returns true now and then, once the wait has become long.
  bool is_long() const { return sleep_ == kLongest && sleeps_ % 16 == 0; }

 private:
  // A thread that stops during the pause is held until its end.
  static constexpr microseconds kLongest{100};
  int sleeps_ = 0;
  microseconds sleep_{5};
};

struct Awaited {
  Tid tid;
  Tid process;
  Clock::time_point since;  // at that time it was not stopped yet
};

// Returns the threads that the calling thread has seized and that have not stopped yet. The list
// belongs to the calling thread because ptrace does: no other thread can let go of them, and the
// kernel does when this thread ends.
std::vector<Awaited>& awaited() {
  thread_local std::vector<Awaited> threads;
  return threads;
}

// While there are awaited threads, one of them may be held at any time. One that is held for
// somebody counts by the Holding of that caller.
void note_awaited() {
  thread_local std::optional<Hold> hold;
  if (awaited().empty()) {
    hold.reset();
  } else if (!hold) {
    hold.emplace();
  }
}

void await(const Awaited& thread) {
  awaited().push_back(thread);
  note_awaited();
}

// The longest time for which one of those was held (an upper bound).
thread_local std::chrono::nanoseconds longest_late_stop{};

// Returns true if the thread need not be awaited any longer.
bool try_let_go(Awaited& thread) {
  const auto asked = Clock::now();
  const ThreadEvent event = poll_thread(thread.tid);
  switch (event.kind) {
    case ThreadEvent::Kind::kNothing:
      thread.since = asked;
      return false;
    case ThreadEvent::Kind::kStopped:
      if (detach_thread(thread.tid, event.signal) != 0) return false;
      longest_late_stop =
          std::max<std::chrono::nanoseconds>(longest_late_stop, Clock::now() - thread.since);
      return true;
    case ThreadEvent::Kind::kEnded:
      collect_ended(thread.tid);
      return true;
    case ThreadEvent::Kind::kGone:
      if (thread.tid == thread.process) return true;
      thread.tid = thread.process;
      // PTRACE_SEIZE waits for the end of a running exec. The thread that it then has seized has
      // another number, and the interrupt went to the old one.
      interrupt_thread(thread.tid);
      return try_let_go(thread);
  }
  return true;
}

// Waits a little for a thread that is about to stop or end.
void let_go_soon(Awaited thread) {
  Pause pause;
  for (const auto deadline = Clock::now() + kSoon; Clock::now() < deadline; pause.wait()) {
    if (try_let_go(thread)) return;
  }
  await(thread);
}

std::optional<Awaited> take_awaited(Tid tid) {
  auto& threads = awaited();
  auto found =
      std::ranges::find_if(threads, [&](const Awaited& thread) { return thread.tid == tid; });
  if (found == threads.end()) return std::nullopt;
  const Awaited thread = *found;
  threads.erase(found);
  note_awaited();
  return thread;
}

Error did_not_stop(Tid tid) {
  const auto stat = read_thread_stat(tid);
  return Error{
      ErrorCode::kLimit,
      name_of(tid) + (stat && stat->state == 'R'
                          ? " does not stop in time: it waits for a processor"
                          : " does not stop: it waits in the kernel for something that nothing "
                            "interrupts (a disk, a network file system, the child of a vfork, or "
                            "the freezer of its control group)")};
}

Error vanished(Tid tid, const char* how) { return Error{ErrorCode::kVanished, name_of(tid) + how}; }

// A thread that sleeps uninterruptibly is better not seized at all, because it could not be let go.
bool becomes_interruptible(Tid tid, Clock::time_point deadline) {
  for (Pause pause;; pause.wait()) {
    const auto stat = read_thread_stat(tid);
    if (!stat || stat->state != 'D') return true;
    if (Clock::now() >= deadline) return false;
    StoppedThread::settle();
  }
}

struct Stop {
  Clock::time_point since;  // at that time it was not stopped yet
  int signal = 0;
};

Result<Stop> wait_for_stop(Awaited thread, Clock::time_point deadline) {
  for (Pause pause;; pause.wait()) {
    const auto asked = Clock::now();
    const ThreadEvent event = poll_thread(thread.tid);
    switch (event.kind) {
      case ThreadEvent::Kind::kStopped:
        return Stop{thread.since, event.signal};
      case ThreadEvent::Kind::kEnded:
        collect_ended(thread.tid);
        return vanished(thread.tid, " ended");
      case ThreadEvent::Kind::kGone:
        let_go_soon(thread);
        return vanished(thread.tid, " ended, or executed another program");
      case ThreadEvent::Kind::kNothing:
        break;
    }
    thread.since = asked;
    if (asked >= deadline) {
      await(thread);
      return did_not_stop(thread.tid);
    }
    StoppedThread::settle();  // no other thread shall be held while this one is awaited
    if (pause.is_long()) {
      // The kernel does not report the end of a first thread while other threads go on.
      const auto stat = read_thread_stat(thread.tid);
      if (stat && has_ended(stat->state)) {
        await(thread);
        return vanished(thread.tid, " ended");
      }
    }
  }
}

Result<RegisterSet> read_register_set(Tid tid) {
  std::array<std::byte, sizeof(user_regs_struct)> bytes{};
  iovec io{bytes.data(), bytes.size()};
  if (ptrace(PTRACE_GETREGSET, raw(tid), NT_PRSTATUS, &io) != 0) {
    return system_error(errno, "registers of " + name_of(tid));
  }
  return decode_register_set(kThisMachine, std::span(bytes).first(io.iov_len));
}

// Returns the first thread of its process; nothing if it is gone.
std::optional<Tid> process_of(Tid tid) {
  auto status = read_proc_file(proc_path(tid, "status"));
  if (!status) return std::nullopt;
  const std::string_view group = status_field(*status, "Tgid");
  std::int32_t number = 0;
  std::from_chars(group.data(), group.data() + group.size(), number);
  return number > 0 ? std::optional(Tid{number}) : std::nullopt;
}

}  // namespace

Result<StoppedThread> StoppedThread::stop(Tid tid, std::chrono::nanoseconds patience) {
  const auto deadline = Clock::now() + patience;
  // This comes before anything that takes time (/proc): if the thread has stopped by now, it is
  // held.
  const std::optional<Awaited> seized_before = take_awaited(tid);
  const auto process = seized_before ? seized_before->process : process_of(tid);
  if (patience.count() > 0) settle();
  if (!process) return explain_refusal(study_refusal(tid, ESRCH));
  if (traces_this_process(*process)) return explain_refusal(study_refusal(tid, EPERM));
  Awaited thread{tid, *process, {}};
  if (seized_before) {
    thread = *seized_before;
  } else {
    if (!becomes_interruptible(tid, deadline)) return did_not_stop(tid);
    thread.since = Clock::now();
    if (const int failure = seize_thread(tid); failure != 0) {
      return explain_refusal(study_refusal(tid, failure));
    }
    // This fails if the thread has ended meanwhile. wait_for_stop() then reports that.
    interrupt_thread(tid);
  }
  auto stop = wait_for_stop(thread, deadline);
  if (!stop) return std::move(stop).error();
  return StoppedThread(tid, thread.process, stop->since, stop->signal);
}

Error StoppedThread::refusal(Tid tid, Error refused) {
  Error explained = explain_refusal(study_refusal(tid, EACCES));
  return explained.code == ErrorCode::kVanished ? std::move(refused) : std::move(explained);
}

std::optional<Tid> StoppedThread::late_stop() {
  thread_local Clock::time_point all_asked;
  thread_local Clock::time_point none_stopped;  // at that time no thread had stopped
  if (awaited().empty()) return std::nullopt;
  const auto now = Clock::now();
  if (const auto tid = any_event()) {
    auto found =
        std::ranges::find_if(awaited(), [&](const Awaited& thread) { return thread.tid == *tid; });
    if (found != awaited().end()) {
      found->since = std::max(found->since, none_stopped);
      return tid;
    }
  } else {
    none_stopped = now;
  }
  // Another part of the program may have collected the event with a waitpid() of its own.
  if (now - all_asked < kBetweenAskingAll) return std::nullopt;
  all_asked = now;
  for (Awaited& thread : awaited()) {
    const auto asked = Clock::now();
    if (poll_thread(thread.tid).kind != ThreadEvent::Kind::kNothing) return thread.tid;
    thread.since = asked;
  }
  return std::nullopt;
}

std::size_t StoppedThread::settle() {
  std::erase_if(awaited(), [](Awaited& thread) { return try_let_go(thread); });
  note_awaited();
  return awaited().size();
}

std::chrono::nanoseconds StoppedThread::take_longest_late_stop() {
  return std::exchange(longest_late_stop, {});
}

StoppedThread::StoppedThread(StoppedThread&& other) noexcept
    : tid_(other.tid_),
      process_(other.process_),
      owned_(std::exchange(other.owned_, false)),
      pending_signal_(other.pending_signal_),
      since_(other.since_) {}

StoppedThread::~StoppedThread() {
  if (!owned_ || detach_thread(tid_, pending_signal_) == 0) return;
  // The thread was killed while it was held.
  let_go_soon({tid_, process_, since_});
}

Result<Address> StoppedThread::thread_pointer_of(Tid tid) {
#if defined(__x86_64__)
  auto set = read_register_set(tid);
  if (!set) return std::move(set).error();
  return *set->thread_pointer;
#elif defined(__aarch64__)
  std::uint64_t pointer = 0;
  iovec io{&pointer, sizeof pointer};
  if (ptrace(PTRACE_GETREGSET, raw(tid), NT_ARM_TLS, &io) != 0) {
    return system_error(errno, "TPIDR_EL0 of " + name_of(tid));
  }
  return Address{pointer};
#endif
}

Result<Registers> StoppedThread::registers_of(Tid tid) {
  auto set = read_register_set(tid);
  if (!set) return std::move(set).error();
  return set->registers;
}

bool StoppedThread::was_waiting() const {
  auto set = read_register_set(tid_);
  if (!set) return false;
  if (kThisMachine == Machine::kX86_64) return set->in_waiting_call;
  constexpr Address kInstruction = 4;
  errno = 0;
  const long code = ptrace(PTRACE_PEEKTEXT, raw(tid_), set->registers.pc - kInstruction, nullptr);
  if (errno != 0) return false;  // the thread cannot have executed code that cannot be read
  constexpr std::size_t kCallNumber = 8;
  const auto words = static_cast<std::uint64_t>(code);
  return aarch64_waited(set->registers.dwarf[kCallNumber], static_cast<std::uint32_t>(words),
                        static_cast<std::uint32_t>(words >> 32));
}

std::chrono::nanoseconds StoppedThread::held() const { return Clock::now() - since_; }

}  // namespace labelscope
