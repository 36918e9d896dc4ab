// Every thread of a live process, stopped and read one after the other.
//
// All stops happen on a thread made for them. It ends when the last thread has been read, and with
// it the kernel lets go of whatever has not stopped until then (stopped_thread.h).
#include <algorithm>
#include <set>
#include <thread>

#include "holding.h"
#include "labelscope/label_walk.h"
#include "labelscope/snapshot.h"
#include "labelscope/stopped_thread.h"
#include "marked_stop.h"
#include "own_thread.h"
#include "proc_fs.h"

namespace labelscope {
namespace {

using Clock = StoppedThread::Clock;
using std::chrono::milliseconds;

// A running thread stops in microseconds, and in milliseconds where all processors are busy. One
// that takes longer is asked again when all the others have been read, in turn with others of its
// kind and without waiting for it: that would let go of those that stop meanwhile.
constexpr milliseconds kFirstPatience{10};
constexpr milliseconds kLaterPatience{0};
constexpr milliseconds kBetweenRounds{1};
// A process that starts threads faster than they are read would never be done.
constexpr int kMaxListings = 100;

class ThreadReader {
 public:
  ThreadReader(const LiveProcess& process, const ProcessPlan& plan, const SnapshotOptions& options,
               Unwinder* unwinder)
      : process_(process), options_(options), unwinder_(unwinder) {
    for (const Publisher& publisher : plan.publishers) recipes_.push_back(publisher.recipe);
  }

  // kVanished, kPermission: nothing could be read.
  Status read_all(ProcessSnapshot& snapshot);

 private:
  Result<bool> read_new_threads();
  void read_late_threads();
  // True if there is no more to be learned of this thread.
  bool read(ThreadSnapshot& thread, milliseconds patience);
  void look_at(ThreadSnapshot& thread, const StoppedThread& stopped);
  void set_problem(ThreadSnapshot& thread, const Error& error);

  const LiveProcess& process_;
  const SnapshotOptions& options_;
  Unwinder* unwinder_;
  std::vector<ls_tls_recipe> recipes_;
  std::set<Tid> seen_;
  std::vector<ThreadSnapshot> done_;
  std::vector<ThreadSnapshot> late_;
  std::size_t vanished_ = 0;
  std::size_t read_ = 0;
  std::optional<Error> refusal_;
};

Status ThreadReader::read_all(ProcessSnapshot& snapshot) {
  for (int listing = 0;; ++listing) {
    auto found = read_new_threads();
    if (!found) {
      if (read_ == 0) return std::move(found).error();
      break;  // the process ended when we had read some
    }
    if (!*found) break;
    if (listing == kMaxListings) {
      snapshot.incomplete = true;
      break;
    }
  }
  read_late_threads();
  if (read_ == 0 && refusal_) return *refusal_;
  snapshot.threads = std::move(done_);
  snapshot.vanished = vanished_;
  std::sort(
      snapshot.threads.begin(), snapshot.threads.end(),
      [](const ThreadSnapshot& a, const ThreadSnapshot& b) { return raw(a.tid) < raw(b.tid); });
  return {};
}

// Whether there were any.
Result<bool> ThreadReader::read_new_threads() {
  auto tids = process_.threads();
  if (!tids) return std::move(tids).error();
  bool any = false;
  for (Tid tid : *tids) {
    if (!seen_.insert(tid).second) continue;
    any = true;
    ThreadSnapshot thread;
    thread.tid = tid;
    if (read(thread, kFirstPatience)) continue;
    late_.push_back(std::move(thread));
  }
  return any;
}

void ThreadReader::read_late_threads() {
  const auto deadline = Clock::now() + options_.patience;
  const auto in_time = [&] { return Clock::now() < deadline; };
  while (!late_.empty() && in_time()) {
    std::erase_if(
        late_, [&](ThreadSnapshot& thread) { return in_time() && read(thread, kLaterPatience); });
    if (!late_.empty()) std::this_thread::sleep_for(kBetweenRounds);
  }
  std::move(late_.begin(), late_.end(), std::back_inserter(done_));
}

bool ThreadReader::read(ThreadSnapshot& thread, milliseconds patience) {
  const std::string number = std::to_string(raw(thread.tid));
  auto stat = read_thread_stat("/proc/" + std::to_string(raw(process_.pid())) + "/task/" + number +
                               "/stat");
  if (!stat) {
    ++vanished_;
    return true;
  }
  thread.name = stat->name;
  // A thread that we have asked to stop may have done so: its state before that is the true one.
  if (thread.state == '?') thread.state = stat->state;
  if (has_ended(stat->state)) {
    if (raw(thread.tid) != raw(process_.pid())) {
      ++vanished_;
      return true;
    }
    set_problem(thread, {ErrorCode::kVanished, "it has ended, and others of its process run on"});
    done_.push_back(std::move(thread));
    return true;
  }
  // What cannot be interrupted is not waited for here: there may be hundreds of such threads.
  if (stat->state == 'D') patience = milliseconds{0};
  const Holding holding;
  const auto moment = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  const MarkedStop marked(options_.current_stop, moment);
  auto stopped = StoppedThread::stop(thread.tid, patience);
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
  thread.thread_pointer = *pointer;
  thread.seen = observe(recipes_, *pointer, process_.memory());
  if (unwinder_ != nullptr) {
    if (auto registers = stopped.registers()) {
      thread.stack = unwinder_->unwind(*registers, process_.memory(), deadline);
    }
  }
  if (options_.while_held) options_.while_held(thread, process_.memory());
}

void ThreadReader::set_problem(ThreadSnapshot& thread, const Error& error) {
  thread.problem = error.context;
  thread.seen = {
      error.code == ErrorCode::kVanished ? LS_UNREADABLE_VANISHED : LS_UNREADABLE_NO_THREAD_POINTER,
      0,
      {}};
}

}  // namespace

Result<ProcessSnapshot> snapshot_process(const LiveProcess& process, ProcessPlan plan,
                                         const SnapshotOptions& options) {
  std::unique_ptr<Unwinder> unwinder;
  if (options.stacks) {
    auto opened = Unwinder::open(process);
    if (!opened) return std::move(opened).error();
    unwinder = *std::move(opened);
  }
  ProcessSnapshot snapshot;
  snapshot.pid = process.pid();
  snapshot.comm = process.comm();
  snapshot.plan = std::move(plan);
  ThreadReader reader(process, snapshot.plan, options, unwinder.get());
  Status read;
  Status ran = run_on_own_thread([&] {
    read = reader.read_all(snapshot);
    snapshot.longest_late_stop = StoppedThread::take_longest_late_stop();
  });
  if (!ran) return std::move(ran).error();
  if (!read) return std::move(read).error();
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
