// This reads every thread of a live process, one after the other, each while it is stopped.
//
// All stops happen on a thread that is made for them. It ends when the last thread has been read.
// Then the kernel lets go of all threads that have not stopped until then (stopped_thread.h).
#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/pages.h"
#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"
#include "process/proc_fs.h"
#include "ptrace/holding.h"
#include "sampling/snapshot.h"

namespace labelscope {
namespace {

using Clock = StoppedThread::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A running thread stops in microseconds, or in milliseconds if all processors are busy. If it
// takes longer, the next thread is read, and this one when it has stopped.
constexpr milliseconds kFirstPatience{10};
// So much of each stop is no delay. Thousands of threads that stop at once take a second, too, and
// are no reason to ask many at the same time: then they are held until each one's turn comes.
constexpr microseconds kUsualStop{200};
// The pause between two looks at threads that have not stopped. A thread that stops meanwhile is
// held until the next look.
constexpr microseconds kShortestPause{5};
constexpr microseconds kLongestPause{50};
// If a process starts threads faster than they are read, reading would never end.
constexpr int kMaxListings = 100;

class ThreadReader {
 public:
  ThreadReader(const LiveProcess& process, const ProcessPlan& plan, const SnapshotOptions& options,
               Unwinder* unwinder)
      : process_(process),
        options_(options),
        unwinder_(unwinder),
        recipes_(plan.recipes()),
        facts_(plan.facts),
        presets_(plan.presets) {}

  // Reads every thread that was not read yet. Fails with kVanished or kPermission if nothing could
  // be read.
  Status read_all(ProcessSnapshot& snapshot);
  // Forgets the threads whose stacks lacked a table, so that they are read again.
  void forget_unfinished();
  void give(ProcessSnapshot& snapshot);

 private:
  Result<bool> read_new_threads();
  void begin(ThreadSnapshot thread);
  // Returns true if this thread is done.
  bool read(ThreadSnapshot& thread);
  void read_stopped();
  void ask_one_asleep();
  template <class Done>
  void read_until(Clock::time_point deadline, Done done);
  void look_at(ThreadSnapshot& thread, const StoppedThread& stopped);
  void look_at_held(ThreadSnapshot& thread);
  void observe_at(ThreadSnapshot& thread);
  void set_problem(ThreadSnapshot& thread, const Error& error);

  const LiveProcess& process_;
  const SnapshotOptions& options_;
  Unwinder* unwinder_;
  std::vector<ls_tls_recipe> recipes_;
  std::shared_ptr<const ProcessFacts> facts_;
  PresetPlans presets_;
  std::set<Tid> seen_;
  std::vector<ThreadSnapshot> done_;
  std::map<Tid, ThreadSnapshot> late_;  // not read yet, because they have not stopped
  std::set<Tid> unfinished_;
  std::deque<Tid> asleep_;     // threads of late_ in state D, not even asked to stop
  Clock::duration waited_{0};  // delays by single threads
  std::size_t vanished_ = 0;
  std::size_t read_ = 0;
  std::optional<Error> refusal_;
};

Status ThreadReader::read_all(ProcessSnapshot& snapshot) {
  for (int listing = 0;; ++listing) {
    auto found = read_new_threads();
    if (!found) {
      if (read_ == 0) return std::move(found).error();
      break;  // the process has ended, but some of its threads were read
    }
    if (!*found) break;
    if (listing == kMaxListings) {
      snapshot.incomplete = true;
      break;
    }
  }
  read_until(Clock::now() + options_.patience, [this] { return late_.empty(); });
  for (auto& [tid, thread] : late_) {
    thread.late = true;
    done_.push_back(std::move(thread));
  }
  late_.clear();
  asleep_.clear();
  if (read_ == 0 && refusal_) return *refusal_;
  return {};
}

void ThreadReader::forget_unfinished() {
  for (const Tid tid : unfinished_) seen_.erase(tid);
  std::erase_if(done_, [&](const ThreadSnapshot& each) { return unfinished_.contains(each.tid); });
  unfinished_.clear();
}

void ThreadReader::give(ProcessSnapshot& snapshot) {
  snapshot.threads = std::move(done_);
  snapshot.vanished = vanished_;
  std::ranges::sort(snapshot.threads, {}, &ThreadSnapshot::tid);
}

// Reads the threads that are new, and returns whether there were any.
Result<bool> ThreadReader::read_new_threads() {
  auto tids = process_.threads();
  if (!tids) return std::move(tids).error();
  bool any = false;
  for (Tid tid : *tids) {
    if (options_.only && !options_.only->contains(tid)) continue;
    if (!seen_.insert(tid).second) continue;
    any = true;
    ThreadSnapshot thread;
    thread.tid = tid;
    thread.inside = process_.number_inside(tid);
    thread.first = raw(tid) == raw(process_.pid());
    begin(std::move(thread));
    read_stopped();
  }
  return any;
}

void ThreadReader::begin(ThreadSnapshot thread) {
  const Tid tid = thread.tid;
  auto stat = read_thread_stat("/proc/" + std::to_string(raw(process_.pid())) + "/task/" +
                               std::to_string(raw(tid)) + "/stat");
  if (!stat) {
    ++vanished_;
    return;
  }
  thread.name = stat->name;
  thread.state = stat->state;
  if (has_ended(stat->state)) {
    if (raw(tid) != raw(process_.pid())) {
      ++vanished_;
      return;
    }
    set_problem(thread, {ErrorCode::kVanished, "it has ended, and others of its process run on"});
    done_.push_back(std::move(thread));
    return;
  }
  if (stat->is_worker()) {
    thread.seen.outcome = LS_UNLABELLED;
    thread.seen.flags = LS_NEVER_TOUCHED;
    if (options_.stacks) thread.stack = UnwoundStack{{}, LS_STACK_ROOT, {}};
    done_.push_back(std::move(thread));
    return;
  }
  if (read(thread)) return;
  late_.emplace(tid, std::move(thread));
  if (stat->state == 'D') asleep_.push_back(tid);
  // Do not wait here for a thread that sleeps uninterruptibly: there may be hundreds. Do not wait
  // for any thread if many do not stop: they stop one after the other, when they get a processor.
  if (stat->state == 'D' || waited_ >= options_.patience) return;
  const auto asked = Clock::now();
  read_until(asked + kFirstPatience, [&] { return !late_.contains(tid); });
  waited_ += std::max<Clock::duration>(Clock::now() - asked - kUsualStop, {});
}

template <class Done>
void ThreadReader::read_until(Clock::time_point deadline, Done done) {
  for (auto pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
    read_stopped();
    ask_one_asleep();
    if (done() || Clock::now() >= deadline) return;
    std::this_thread::sleep_for(pause);
  }
}

// Reads the late threads that have stopped since.
void ThreadReader::read_stopped() {
  // Each thread is tried only once, whatever happens to it meanwhile.
  for (std::size_t left = late_.size() + 1; left > 0; --left) {
    const auto tid = StoppedThread::late_stop();
    if (!tid) return;
    auto thread = late_.find(*tid);
    if (thread == late_.end()) {
      // A late thread has executed another program, and goes on under this number, so it is let go.
      StoppedThread::settle();
    } else if (read(thread->second)) {
      late_.erase(thread);
    }
  }
}

// Asks one sleeping thread at a time: while this waits for it, others that stop are held.
void ThreadReader::ask_one_asleep() {
  if (asleep_.empty()) return;
  const Tid tid = asleep_.front();
  asleep_.pop_front();
  auto thread = late_.find(tid);
  if (thread == late_.end()) return;
  if (read(thread->second)) {
    late_.erase(thread);
  } else {
    asleep_.push_back(tid);
  }
}

bool ThreadReader::read(ThreadSnapshot& thread) {
  const auto moment = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  const MarkedStop marked(options_.current_stop, moment);
  if (options_.held && options_.held->tid == thread.tid) {
    look_at_held(thread);
    done_.push_back(std::move(thread));
    return true;
  }
  auto stopped = StoppedThread::stop(thread.tid, milliseconds{0});
  if (!stopped) {
    const Error& error = stopped.error();
    if (error.code == ErrorCode::kVanished) {
      ++vanished_;
      return true;
    }
    set_problem(thread, error);
    if (error.code == ErrorCode::kLimit) return false;
    if (error.code == ErrorCode::kPermission && !refusal_) refusal_ = error;
  } else {
    look_at(thread, *stopped);
    thread.held = stopped->held();
    ++read_;
  }
  done_.push_back(std::move(thread));
  return true;
}

void ThreadReader::look_at(ThreadSnapshot& thread, const StoppedThread& stopped) {
  thread.problem.clear();
  const auto deadline = Clock::now() - stopped.held() + options_.max_stop;
  auto pointer = stopped.thread_pointer();
  if (!pointer) return set_problem(thread, pointer.error());
  auto registers = stopped.registers();
  if (!registers) return set_problem(thread, registers.error());
  thread.thread_pointer = *pointer;
  thread.registers = *registers;
  observe_at(thread);
  if (unwinder_ != nullptr) {
    thread.stack = unwinder_->unwind(*registers, process_.memory(), deadline);
    if (thread.stack->end == LS_STACK_NO_TABLE && unwinder_->lacks_tables()) {
      unfinished_.insert(thread.tid);
    }
  }
  if (options_.while_held) options_.while_held(thread, process_.memory());
}

void ThreadReader::look_at_held(ThreadSnapshot& thread) {
  ++read_;
  if (!options_.held->thread_pointer) {
    return set_problem(thread, {ErrorCode::kLimit, "it did not stop in time"});
  }
  thread.thread_pointer = options_.held->thread_pointer;
  thread.registers = options_.held->registers;
  observe_at(thread);
  if (options_.while_held) options_.while_held(thread, process_.memory());
}

void ThreadReader::observe_at(ThreadSnapshot& thread) {
  thread.seen = observe(recipes_, thread.state_read({facts_.get(), &presets_}), process_.memory());
}

void ThreadReader::set_problem(ThreadSnapshot& thread, const Error& error) {
  thread.problem = error.context;
  thread.seen = {
      error.code == ErrorCode::kVanished ? LS_UNREADABLE_VANISHED : LS_UNREADABLE_NO_THREAD_POINTER,
      0,
      {}};
}

// Returns the stack pointer and the program counter of a thread that waits in the kernel: the last
// two of "202 0x7ffd... 0x80 ... 0x7ffc8b2f8d08 0x7f3a54a8d117". One that runs has none.
std::optional<std::pair<Address, Address>> waits_at(const LiveProcess& process, Tid tid) {
  auto text = read_proc_file("/proc/" + std::to_string(raw(process.pid())) + "/task/" +
                             std::to_string(raw(tid)) + "/syscall");
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  Address found[2] = {};
  for (Address& each : found) {
    const std::size_t blank = rest.rfind(' ');
    if (blank == std::string_view::npos || rest.substr(blank + 1, 2) != "0x") return std::nullopt;
    const std::string_view digits = rest.substr(blank + 3);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), each, 16).ec != std::errc())
      return std::nullopt;
    rest = rest.substr(0, blank);
  }
  return std::pair(found[1], found[0]);
}

// Lets the unwinder see, while all threads go on, through which files their stacks may lead: which
// code a thread waits in, and all words of its stack that may be addresses of code. So most tables
// are there before a thread is stopped.
void expect_stacks(const LiveProcess& process, const SnapshotOptions& options, Unwinder& unwinder) {
  // Most stacks of waiting threads are as small as this.
  constexpr std::size_t kBytes = std::size_t{16} * 1024;
  // Thousands of threads mostly do the same.
  constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  const auto tids = process.threads();
  if (!tids) return;
  std::size_t looked_at = 0;
  for (const Tid tid : *tids) {
    if (looked_at >= kMostBytes) return;
    if (options.only && !options.only->contains(tid)) continue;
    const auto at = waits_at(process, tid);
    if (!at) continue;
    unwinder.expect(at->second);
    std::array<Address, kPage / sizeof(Address)> words;
    const Address start = at->first & ~Address{7};
    for (Address from = start; from < start + kBytes;) {
      // A page at a time, since a stack may end behind it.
      const auto part = std::span(words).first((kPage - from % kPage) / sizeof(Address));
      if (!process.memory().read(from, std::as_writable_bytes(part))) break;
      for (const Address word : part) unwinder.expect(word);
      looked_at += part.size_bytes();
      from += part.size_bytes();
    }
  }
}

}  // namespace

Result<ProcessSnapshot> snapshot_process(const LiveProcess& process, ProcessPlan plan,
                                         const SnapshotOptions& options) {
  std::unique_ptr<Unwinder> unwinder;
  if (options.stacks) {
    auto opened = Unwinder::open(process, nullptr, options.build_table);
    if (!opened) return std::move(opened).error();
    unwinder = *std::move(opened);
  }
  ProcessSnapshot snapshot;
  snapshot.pid = process.pid();
  snapshot.comm = process.comm();
  snapshot.plan = std::move(plan);
  // A stop interrupts some system calls for good, so a thread that waits is stopped once.
  if (unwinder != nullptr) {
    expect_stacks(process, options, *unwinder);
    unwinder->make_tables(process);
  }
  ThreadReader reader(process, snapshot.plan, options, unwinder.get());
  for (;;) {
    Status read;
    Status ran = run_on_own_thread([&] {
      // This lasts for the whole time, because a thread that has not stopped yet may stop at any
      // moment.
      const Holding holding(Holding::Until::kThreadEnds);
      read = reader.read_all(snapshot);
      snapshot.longest_late_stop =
          std::max(snapshot.longest_late_stop, StoppedThread::take_longest_late_stop());
    });
    if (!ran) return std::move(ran).error();
    if (!read) return std::move(read).error();
    if (unwinder == nullptr || !unwinder->lacks_tables()) break;
    unwinder->make_tables(process);  // no thread is held now
    reader.forget_unfinished();
  }
  reader.give(snapshot);
  const std::string name = "process " + std::to_string(raw(process.pid()));
  if (snapshot.threads.empty()) {
    return Error{ErrorCode::kVanished, name + " ended before any of its threads could be read"};
  }
  if (process.has_replaced_program() && process.threads()) {
    return Error{ErrorCode::kVanished, name + " has executed another program meanwhile"};
  }
  return snapshot;
}

}  // namespace labelscope
