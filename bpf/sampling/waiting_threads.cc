#include "bpf/sampling/waiting_threads.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/load/kernel.h"
#include "bpf/snapshot/task_iterators.h"
#include "bpf/wire/task_records.h"
#include "process/cpu_times.h"
#include "process/proc_fs.h"
#include "sources/label_codec.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kLargestUnit = 1'000'000'000;

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::string thread_path(Pid pid, Tid tid, const char* name) {
  return "/proc/" + std::to_string(raw(pid)) + "/task/" + std::to_string(raw(tid)) + "/" + name;
}

// Threads of io_uring wait for work alone, and are left out as in off_cpu.bpf.h.
bool waits(Pid pid, Tid tid) {
  const auto stat = read_thread_stat(thread_path(pid, tid, "stat"));
  return stat && stat->state != 'R' && !has_ended(stat->state) &&
         (stat->flags & worker_flags()) == 0;
}

// Returns the system call that the thread waits in, or -1. The kernel shows "running" for a thread
// that runs, and -1 for one that is in no system call.
std::int32_t system_call_of(Pid pid, Tid tid) {
  const std::string line = read_proc_line(thread_path(pid, tid, "syscall"));
  std::int32_t number = -1;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

}  // namespace

WaitingThreads::WaitingThreads(BpfObject& object, const SamplerOptions& options)
    : object_(object),
      period_ns_(1'000'000'000 / options.frequency_hz),
      unit_ns_(period_ns_),
      wants_stacks_(options.call_graph != LS_CALL_GRAPH_NONE) {
  if (auto iterators = TaskIterators::load(Pid{getpid()})) iterators_ = *std::move(iterators);
}

WaitingThreads::~WaitingThreads() = default;

// What the kernel's iterator says of the threads of a process; nothing of those that it cannot
// read.
std::unordered_map<std::int32_t, ThreadSnapshot> WaitingThreads::read_threads(Pid pid) {
  std::unordered_map<std::int32_t, ThreadSnapshot> threads;
  const auto process = object_.process(pid);
  if (!process || !iterators_ || !iterators_->move_to(pid)) return threads;
  ls_request request{};
  request.recipes = process->recipes;
  const auto take = [&](std::span<const std::byte> bytes) -> Status {
    auto record = decode_thread(bytes);
    if (!record) return std::move(record).error();
    if (record->ended || record->pointer_lags) return {};
    const std::int32_t tid = raw(record->thread.tid);
    threads.insert_or_assign(tid, std::move(record->thread));
    return {};
  };
  static_cast<void>(iterators_->run(TaskIterators::Kind::kThreads, request, take));
  return threads;
}

Status WaitingThreads::begin() {
  last_ = std::chrono::steady_clock::now();
  return object_.set_wait_unit(unit_ns_);
}

Status WaitingThreads::hold_budget(std::uint64_t taken) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return {};
  const double seconds = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  const double rate = static_cast<double>(taken - std::exchange(taken_, taken)) / seconds;
  // A weight twice as large halves the number of samples.
  const double factor = std::max(rate / kMostASecond, 0.5);
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(unit_ns_) * factor);
  const std::uint64_t unit = std::clamp(wanted, period_ns_, std::max(period_ns_, kLargestUnit));
  if (unit == std::exchange(unit_ns_, unit)) return {};
  ++changes_;
  return object_.set_wait_unit(unit_ns_);
}

Status WaitingThreads::begin(Pid pid) {
  auto threads = read_thread_times(pid);
  if (!threads) return std::move(threads).error();
  for (const ThreadTime& thread : *threads) {
    if (!waits(pid, thread.tid)) continue;
    ls_off_cpu state{};
    state.left_ns = now_ns();
    state.pid = static_cast<std::uint32_t>(raw(pid));
    state.system_call = system_call_of(pid, thread.tid);
    if (Status status = object_.add_waiting(thread.tid, state); !status) return status;
  }
  return {};
}

void WaitingThreads::take_open(const std::function<void(const Sample&)>& take) {
  const std::uint64_t now = now_ns();
  std::map<std::int32_t, std::vector<std::pair<Tid, ls_off_cpu>>> open;
  for (const auto& [tid, thread] : object_.off_cpu_threads()) {
    if (thread.left_ns == 0 || thread.left_ns >= now) continue;
    open[static_cast<std::int32_t>(thread.pid)].emplace_back(tid, thread);
  }
  for (const auto& [number, waiting] : open) {
    const Pid pid{number};
    const auto threads = read_threads(pid);
    for (const auto& [tid, thread] : waiting) {
      const auto known = threads.find(raw(tid));
      std::vector<std::byte> labels;
      Sample sample;
      sample.time_ns = now;
      sample.pid = pid;
      sample.tid = tid;
      sample.system_call = thread.system_call;
      sample.outcome = LS_UNREADABLE_VANISHED;
      if (wants_stacks_) sample.stack.end = LS_STACK_MISSING;
      if (known != threads.end()) {
        const ThreadSnapshot& seen = known->second;
        sample.comm = seen.name;
        sample.outcome = seen.seen.outcome;
        sample.flags = seen.seen.flags;
        append_label_bytes(seen.seen.labels, labels);
        sample.label_bytes = labels;
      }
      const std::uint64_t woken = std::min<std::uint64_t>(thread.woken_ns, now);
      const std::uint64_t until = woken >= thread.left_ns ? woken : now;
      sample.kind = LS_WAITING;
      sample.weight_ns = until - thread.left_ns;
      if (sample.weight_ns != 0) take(sample);
      sample.kind = LS_RUNNABLE;
      sample.weight_ns = now - until;
      if (sample.weight_ns != 0) take(sample);
    }
  }
}

}  // namespace labelscope
