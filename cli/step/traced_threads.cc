#include "cli/step/traced_threads.h"

#include <sched.h>
#include <sys/ptrace.h>

#include <cerrno>
#include <csignal>

#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// Options of waitpid(): only what the calling thread has started or traces.
constexpr int kOurs = __WALL | __WNOTHREAD;
// A thread that does not stop in this time is in the kernel. It stops before it runs user code
// again.
constexpr std::chrono::milliseconds kHoldPatience{50};

}  // namespace

Status TracedThreads::seize() {
  const Tid first{raw(program_)};
  if (::ptrace(PTRACE_SEIZE, raw(first), nullptr, trace_options()) != 0) {
    return StoppedThread::refusal(first, system_error(errno, "cannot trace the program"));
  }
  add(first, Kin::kThread).running = true;
  return {};
}

std::optional<TracedThreads::Event> TracedThreads::next(const std::function<void()>& interrupted) {
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
    interrupted();
  }
}

TracedThread* TracedThreads::find(Tid tid) {
  const auto entry = threads_.find(tid);
  return entry == threads_.end() ? nullptr : &entry->second;
}

TracedThread& TracedThreads::add(Tid tid, Kin kin) {
  TracedThread& thread = threads_[tid];
  thread.tid = tid;
  thread.kin = kin;
  return thread;
}

void TracedThreads::remove_all_but_first() {
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.second.kin == Kin::kThread && raw(entry.first) != raw(program_);
  });
}

void TracedThreads::for_each(const std::function<void(TracedThread&)>& call) {
  for (auto& [tid, thread] : threads_) call(thread);
}

void TracedThreads::kill_all() {
  for (const auto& [tid, thread] : threads_) ::kill(raw(tid), SIGKILL);
}

std::vector<TracedThread*> TracedThreads::hold_others(const TracedThread& thread) {
  std::vector<TracedThread*> others;
  for (auto& [tid, other] : threads_) {
    if (&other == &thread || !other.running || other.kin == Kin::kOther) continue;
    ::ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr);
    others.push_back(&other);
  }
  std::erase_if(others, [&](TracedThread* other) { return !hold(*other); });
  return others;
}

// Waits until an interrupted thread has stopped. Returns true if it did nothing else meanwhile.
bool TracedThreads::hold(TracedThread& thread) {
  const auto deadline = TracedThread::Clock::now() + kHoldPatience;
  int status = 0;
  pid_t stopped = 0;
  while ((stopped = ::waitpid(raw(thread.tid), &status, kOurs | WNOHANG)) == 0) {
    if (TracedThread::Clock::now() >= deadline) return false;
    ::sched_yield();
  }
  if (stopped < 0) return false;
  thread.running = false;
  const bool only_stopped =
      WIFSTOPPED(status) && explain_stop(thread.tid, status).kind == Stop::Kind::kInterrupted;
  if (!only_stopped) waiting_.push_back({thread.tid, status});
  return only_stopped;
}

std::optional<int> TracedThreads::wait_for(TracedThread& thread) {
  int status = 0;
  if (::waitpid(raw(thread.tid), &status, kOurs) != raw(thread.tid)) return std::nullopt;
  thread.running = false;
  return status;
}

}  // namespace labelscope::cli
