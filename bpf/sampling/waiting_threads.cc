#include "bpf/sampling/waiting_threads.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "bpf/load/kernel.h"
#include "bpf/sampling/wait_values.h"
#include "bpf/snapshot/task_iterators.h"
#include "bpf/wire/task_records.h"
#include "labelscope/unique_fd.h"
#include "process/cpu_times.h"
#include "process/proc_fs.h"
#include "sources/label_codec.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kLargestUnit = 1'000'000'000;

std::string thread_path(Pid pid, Tid tid, const char* name) {
  return "/proc/" + std::to_string(raw(pid)) + "/task/" + std::to_string(raw(tid)) + "/" + name;
}

// Returns the state of a thread, or 0 if it has ended. Threads of io_uring wait for work alone, and
// are left out as in off_cpu.bpf.h.
char state_of(Pid pid, Tid tid) {
  const auto stat = read_thread_stat(thread_path(pid, tid, "stat"));
  const bool counts = stat && !has_ended(stat->state) && !stat->is_worker();
  return counts ? stat->state : '\0';
}

bool waits(char state) { return state != 'R' && state != '\0'; }

// The fifth byte of an ELF file says which class it is of.
bool runs_32_bit_program(Pid pid) {
  char head[EI_CLASS + 1] = {};
  const UniqueFd program(
      ::open(("/proc/" + std::to_string(raw(pid)) + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
  return program.valid() && ::pread(program.get(), head, sizeof head, 0) == sizeof head &&
         head[EI_CLASS] == ELFCLASS32;
}

// Returns the system call that the thread waits in, or one of LS_CALL_.... The kernel shows
// "running" for a thread that runs, and -1 for one that is in no system call.
std::int32_t system_call_of(Pid pid, Tid tid, char state, bool of_32_bits) {
  if (state == 'T' || state == 't') return LS_CALL_STOPPED;
  const std::string line = read_proc_line(thread_path(pid, tid, "syscall"));
  std::int32_t number = LS_CALL_FAULT;
  std::from_chars(line.data(), line.data() + line.size(), number);
  if (number < 0) return LS_CALL_FAULT;
  return of_32_bits ? number | LS_CALL_32_BIT : number;
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
std::unordered_map<std::int32_t, WaitingThreads::SeenThread> WaitingThreads::read_threads(
    Pid pid, bool with_labels) {
  std::unordered_map<std::int32_t, SeenThread> threads;
  const auto process = object_.process(pid);
  if (!process || !iterators_ || !iterators_->move_to(pid)) return threads;
  ls_request request{};
  // Memory that is not read keeps nobody waiting.
  if (with_labels) request.recipes = process->recipes;
  const auto take = [&](std::span<const std::byte> bytes) -> Status {
    auto record = decode_thread(bytes);
    if (!record) return std::move(record).error();
    if (record->ended || record->pointer_lags) return {};
    SeenThread& seen = threads[raw(record->thread.tid)];
    seen = {std::move(record->thread.name), record->thread.state, record->thread.ran,
            record->labels.outcome, record->labels.flags, {}};
    append_label_bytes(record->labels, seen.label_bytes);
    return {};
  };
  iterators_->copy_presets(object_.presets_fd(), {request.recipes.recipe, request.recipes.count});
  static_cast<void>(iterators_->run(TaskIterators::Kind::kThreads, request, take, {}));
  return threads;
}

Status WaitingThreads::begin() {
  last_ = std::chrono::steady_clock::now();
  generation_began_ = last_;
  return object_.set_wait_unit(unit_ns_);
}

Status WaitingThreads::work(EventHandler& handler, bool all_read) {
  if (Status status = hold_budget(); !status) return status;
  return all_read && !is_cutting_ ? take_out(handler) : Status();
}

Status WaitingThreads::hold_budget() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return {};
  // Samples of threads that run are counted in an entry of their own.
  const auto counts = object_.counters(LS_COUNTERS_OTHERS);
  if (!counts) return counts.error();
  const std::uint64_t taken = counts->value[LS_COUNT_TAKEN];
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

Result<bool> WaitingThreads::note(Tid tid, ls_off_cpu thread) {
  thread.tid = static_cast<std::uint32_t>(raw(tid));
  auto added = object_.add_waiting(tid, thread);
  if (added || added.error().code != ErrorCode::kLimit) return added;
  ++without_room_;
  return false;
}

Status WaitingThreads::begin(Pid pid, const WaitAccounts& accounts) {
  const auto process = object_.process(pid);
  if (process && process->until_exec) return {};  // its waits are labelscope's own
  auto threads = read_thread_times(pid);
  if (!threads) return std::move(threads).error();
  ls_off_cpu wait{};
  const auto life = object_.life(pid);
  if (!life) return life.error();
  wait.pid = static_cast<std::uint32_t>(raw(pid));
  wait.life = *life;
  wait.labels = LS_LABELS_LATER;
  wait.blame_labels = LS_LABELS_LATER;
  const bool of_32_bits = runs_32_bit_program(pid);
  std::vector<ThreadTime> runnable;
  for (const ThreadTime& thread : *threads) {
    const char state = state_of(pid, thread.tid);
    if (state == 'R') runnable.push_back(thread);
    if (!waits(state)) continue;
    wait.left_ns = accounts.waits_since(thread, monotonic_ns());
    wait.left_ran_ns = thread.ran_ns;
    wait.account = {wait.left_ns, thread.ran_ns, {}};
    wait.part = state == 'D' ? LS_PART_UNINTERRUPTIBLE : LS_PART_WAITING;
    wait.system_call = system_call_of(pid, thread.tid, state, of_32_bits);
    const auto added = note(thread.tid, wait);
    if (!added) return added.error();
    // It may have been woken, or have ended, before the kernel's programs could find the entry.
    const char now = *added ? state_of(pid, thread.tid) : state;
    if (waits(now)) continue;
    object_.forget_waiting(thread.tid, wait.left_ns);
    if (now == 'R') runnable.push_back(thread);
  }
  return runnable.empty() ? Status() : begin_queued(runnable, wait);
}

// Only the kernel's iterator distinguishes threads that run from those that wait for a processor.
Status WaitingThreads::begin_queued(const std::vector<ThreadTime>& runnable, ls_off_cpu wait) {
  const Pid pid{static_cast<std::int32_t>(wait.pid)};
  const auto queued_now = [&] {
    auto all = read_threads(pid, false);
    std::erase_if(all,
                  [](const auto& entry) { return entry.second.ran || entry.second.state != 'R'; });
    return all;
  };
  const auto before = queued_now();
  std::vector<std::pair<Tid, std::uint64_t>> noted;
  for (const ThreadTime& thread : runnable) {
    const Tid tid = thread.tid;
    if (!before.contains(raw(tid))) continue;
    wait.left_ns = monotonic_ns();
    wait.woken_ns = wait.left_ns;
    wait.left_ran_ns = thread.ran_ns;
    wait.account = {wait.left_ns, thread.ran_ns, {}};
    wait.system_call = LS_CALL_NONE;
    const auto added = note(tid, wait);
    if (!added) return added.error();
    if (*added) noted.emplace_back(tid, wait.left_ns);
  }
  if (noted.empty()) return {};
  // It may have got a processor before the kernel's programs could find the entry.
  const auto after = queued_now();
  for (const auto& [tid, left_ns] : noted) {
    if (!after.contains(raw(tid))) object_.forget_waiting(tid, left_ns);
  }
  return {};
}

// A thread's labels are those of its wait only if it was in that wait all the time in which they
// were read.
void WaitingThreads::look(const WaitingEntries& first, const Wanted& wanted) {
  std::set<std::int32_t> processes;
  for (const auto& [tid, thread] : first) {
    if (thread.left_ns != 0 && wanted(tid, thread))
      processes.insert(static_cast<std::int32_t>(thread.pid));
  }
  if (processes.empty()) return;
  std::unordered_map<std::int32_t, std::uint64_t> before;
  for (const auto& [tid, thread] : first) before[raw(tid)] = thread.left_ns;
  std::unordered_map<std::int32_t, SeenThread> threads;
  for (const std::int32_t pid : processes) threads.merge(read_threads(Pid{pid}, true));
  for (const auto& [tid, thread] : object_.off_cpu_threads()) {
    const auto known = before.find(raw(tid));
    const auto read = threads.find(raw(tid));
    if (thread.left_ns == 0 || known == before.end() || known->second != thread.left_ns ||
        read == threads.end())
      continue;
    if (!read->second.ran) seen_[raw(tid)] = {thread.left_ns, std::move(read->second)};
  }
}

void WaitingThreads::look() {
  look(object_.off_cpu_threads(), [](Tid, const ls_off_cpu&) { return true; });
}

void WaitingThreads::close(std::uint64_t now_ns, WaitAccounts& accounts) {
  closed_ns_ = now_ns;
  open_ = object_.off_cpu_threads();
  accounts.close(open_, now_ns);
  std::erase_if(open_, [&](const auto& entry) {
    return entry.second.left_ns == 0 || entry.second.left_ns >= closed_ns_;
  });
}

// What the memory of the thread had while it was in that wait comes first; then the number under
// which the programs have read the labels.
void WaitingThreads::take(Tid tid, Pid pid, const OpenWait& wait, const WaitParts& parts,
                          std::uint32_t flags, const Take& take) const {
  Sample sample;
  sample.time_ns = closed_ns_;
  sample.process = {pid, wait.life};
  sample.tid = tid;
  sample.system_call = wait.system_call;
  sample.outcome = LS_UNREADABLE_VANISHED;
  sample.flags = flags;
  if (wants_stacks_) sample.stack.end = LS_STACK_MISSING;
  const auto seen = seen_.find(raw(tid));
  if (seen != seen_.end() && wait.left_ns != 0 && seen->second.left_ns == wait.left_ns) {
    const SeenThread& read = seen->second.thread;
    sample.comm = read.name;
    sample.outcome = read.outcome;
    sample.flags |= read.flags;
    sample.label_bytes = read.label_bytes;
  } else if (wait.labels >= LS_FIRST_LABEL_NUMBER) {
    sample.outcome = LS_LABELLED;
    sample.label_number = wait.labels;
  } else if (wait.labels < LS_OUTCOME_COUNT && wait.labels != LS_LABELLED) {
    sample.outcome = static_cast<ls_outcome>(wait.labels);
  }
  for (int part = 0; part < LS_WAIT_PARTS; ++part) {
    sample.kind = kKindOfPart[part];
    sample.weight_ns = parts[static_cast<std::size_t>(part)];
    if (sample.weight_ns != 0) take(sample);
  }
}

// Waits whose labels the kernel has not read are in no total.
void WaitingThreads::take_late(Tid tid, Pid pid, const ls_late_waits& late,
                               const Take& take) const {
  for (std::size_t part = 0; part < LS_WAIT_PARTS; ++part) {
    WaitParts parts{};
    parts[part] = late.ns[part];
    OpenWait wait;
    wait.labels = late.labels == 0 ? LS_LABELS_LATER : late.labels;
    wait.life = late.life;
    wait.system_call = late.system_call[part];
    this->take(tid, pid, wait, parts, LS_STILL_WAITING, take);
  }
}

void WaitingThreads::take_at_cut(const ThreadAtCut& thread, const WaitParts& open,
                                 const Take& take) const {
  if (thread.open) {
    this->take(thread.tid, thread.process.pid, *thread.open, open, LS_STILL_WAITING, take);
  }
  take_late(thread.tid, thread.process.pid, thread.late, take);
}

void WaitingThreads::take_open(const Take& take) {
  for (const auto& [tid, thread] : open_) {
    const OpenWait wait = open_wait(thread);
    const WaitParts parts = parts_of(wait, cut_.cut_ns, closed_ns_);
    this->take(tid, static_cast<Pid>(thread.pid), wait, parts, LS_STILL_WAITING, take);
  }
  for (const auto& [tid, thread] : object_.off_cpu_threads()) {
    const Pid pid{static_cast<std::int32_t>(thread.pid)};
    for (const ls_late_waits& late : thread.late) {
      if (late.cut_ns == cut_.cut_ns) take_late(tid, pid, late, take);
    }
    // What was drawn of others is in a total.
    if (thread.labels == LS_LABELS_LATER) continue;
    WaitParts drawn{};
    std::ranges::copy(thread.drawn_ns, drawn.begin());
    this->take(tid, pid, open_wait(thread), drawn, 0, take);
  }
}

void WaitingThreads::hand_out_old(EventHandler& handler) {
  const std::uint32_t current = ls_generation_of(window_);
  const auto waits = object_.take_wait_totals(current);
  auto blame = object_.take_blame_totals(current);
  handler.on_waits(totals_of(waits), blame_of(with_labels(std::move(blame))));
  has_old_ = false;
}

// The programs have added nothing to totals of the other generation since the last time.
Status WaitingThreads::take_out(EventHandler& handler) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_taken_ < kQuiet) return {};
  if (has_old_) hand_out_old(handler);
  const auto made = object_.totals_made();
  if (!made) return made.error();
  // As many again may come until these are taken out, and those of this generation stay until then.
  const bool many = made->waits - made_.waits > kMostWaitTotals / 4 ||
                    made->blame - made_.blame > kMostBlameTotals / 4;
  if (!many) {
    last_taken_ = now;
    return {};
  }
  const double seconds =
      std::chrono::duration<double>(now - std::exchange(generation_began_, now)).count();
  // Pairs that are so many have label sets that do not come again. To divide blame by the wanted
  // keys alone is what keeps each row of them right.
  if (static_cast<double>(made->blame - made_.blame) > seconds * kMostPairsASecond) {
    if (Status status = object_.blame_by_keys(); !status) return status;
  }
  made_ = *made;
  has_old_ = true;
  window_ ^= 1;
  Status status = object_.set_wait_window(window_);
  // To take out the other one may have lasted longer than kQuiet.
  last_taken_ = std::chrono::steady_clock::now();
  return status;
}

// A number may come in both generations, so the kernel keeps what it stands for until the next
// time.
std::vector<WaitingThreads::BlameEntry> WaitingThreads::with_labels(
    std::vector<BlameEntry> entries) {
  const std::vector<BlameEntry> late = std::exchange(late_, {});
  entries.insert(entries.end(), late.begin(), late.end());
  const std::set<std::uint64_t> before = std::exchange(late_numbers_, {});
  std::vector<BlameEntry> known;
  for (BlameEntry& entry : entries) {
    ls_wait_key& wait = entry.first.wait;
    if ((wait.generation & LS_GENERATION_LATE) != 0) {
      const auto labels = object_.late_labels(wait.labels);
      if (!labels) {
        // What is too much becomes unknown (blame.h).
        if (late_.size() < kMostBlameTotals / 4) late_.push_back(entry);
        continue;
      }
      late_numbers_.insert(wait.labels);
      wait.labels = *labels;
      wait.generation &= ~LS_GENERATION_LATE;
    }
    known.push_back(entry);
  }
  for (const std::uint64_t number : before) {
    if (!late_numbers_.contains(number)) object_.forget_late_labels(number);
  }
  return known;
}

std::vector<BlameTotal> WaitingThreads::blame() {
  return blame_of(with_labels(object_.blame_totals()));
}

// Threads may hold waits for whose total there was no room.
std::vector<WaitTotal> WaitingThreads::totals() {
  std::vector<WaitTotal> all = totals_of(object_.wait_totals());
  for (const auto& [tid, thread] : object_.off_cpu_threads()) add_held(thread, all);
  const std::vector<WaitTotal> lost = lost_of(lost_);
  all.insert(all.end(), lost.begin(), lost.end());
  return all;
}

}  // namespace labelscope
