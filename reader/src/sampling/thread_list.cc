// ThreadList chooses by CPU time which threads are sampled, and when.
//
// The problem: samples shall show where CPU time goes, but only states are visible from outside. A
// thread in state R runs, or would run if a processor were free. Sampling every such thread at each
// tick counts waiting for a processor as time on one. And at the moment of the look labelscope
// itself has taken a processor from one of them. So there are two questions with two answers:
//
//   How many samples?   As many as the kernel's count of the thread's CPU time allows. Each period
//                       of CPU time earns one credit; each sample costs one.
//   When?               At a tick at which the thread has earned half a credit or more and is in
//                       state R.
//
//   CPU time of a thread  |----- 1 period -----|----- 1 period -----|----- ...
//   credit                0        0.5 -> -0.5          0.5 -> -0.5
//                                    x                    x            samples
//
// Half a credit is enough, so that a sample stands for the time around it and not only for the time
// before it. A new thread starts with a random part of a credit, between -1/2 and 1/2: so the right
// share of many short-lived threads gets a sample.
//
// After the stop, it may turn out in two ways that the thread was not on a processor. In both cases
// the credit is given back, and a later tick tries again:
//   - It is in the system call in which it waited: its wait has just ended, or it waits again. If
//     such samples counted, a thread that works for less time than it waits would mostly be sampled
//     in that call.
//   - It waited long for a processor and stopped when it got one, where its last turn had ended.
//     On a busy machine turns end at the scheduler's ticks. If the work repeats with nearly that
//     period, all samples would fall on the same part of it. (With kMostWaiting credits the thread
//     is sampled all the same: it may never be found on a processor.)
//
// A thread that is never found in state R gets no sample. Its credit has a bound (kMaxCredit), so
// that a thread that was missed for long is not sampled at every tick afterwards.
#include "sampling/thread_list.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>

#include "process/cpu_times.h"

namespace labelscope {
namespace {

// The bound of the credit, in periods.
constexpr int kMaxCredit = 8;
// This is in periods. With so much credit a thread is sampled even if it waits for a processor. On
// a machine with one processor it is never seen on it: labelscope has the processor at that moment.
constexpr int kMostWaiting = 4;
// A thread that another one wakes waits for a processor for less than this. A thread that others
// keep from a processor waits for the rest of their turns, which is milliseconds.
constexpr std::chrono::microseconds kShortWait{500};
// A thread's name is read again after so many listings. Most programs set a name only once.
constexpr std::uint64_t kListingsPerName = 64;

// A process may have more threads than labelscope may open files. Descriptors count upwards from
// the lowest that is free, so the upper half of the limit stays for other processes. A file that is
// not held open is opened for each reading.
bool may_be_held(const UniqueFd& file) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(file.get()) < limit.rlim_cur / 2;
}

// Returns -1/2 to 1/2 of the period, different for every thread.
std::chrono::nanoseconds first_credit(std::int32_t tid, std::chrono::nanoseconds period) {
  const std::uint32_t seed = static_cast<std::uint32_t>(tid) * 2654435761U;
  std::minstd_rand random(seed);
  random.discard(2);
  const double share = static_cast<double>(random() - std::minstd_rand::min()) /
                       static_cast<double>(std::minstd_rand::max());
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>((share - 0.5) * static_cast<double>(period.count())));
}

}  // namespace

Result<ThreadList> ThreadList::open(Pid pid, bool newborn, std::chrono::nanoseconds period) {
  std::string folder = "/proc/" + std::to_string(raw(pid)) + "/task/";
  std::unique_ptr<DIR, DirCloser> dir(::opendir(folder.c_str()));
  if (!dir) {
    if (errno == ENOENT) {
      return Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
    }
    return system_error(errno, folder);
  }
  ThreadList list(std::move(folder), std::move(dir), period);
  const bool there = list.refresh();
  if (!newborn) list.start_over();
  if (!there) return Error{ErrorCode::kVanished, "process " + std::to_string(raw(pid)) + " ended"};
  return list;
}

void ThreadList::begin(ListedThread& thread, std::int32_t tid) {
  thread = {};
  thread.tid = Tid{tid};
  thread.credit = first_credit(tid, period_);
  thread.seen_first = Clock::now();
  const auto stat = stat_of(thread);
  thread.is_worker = stat && stat->is_worker();
  const std::string path = folder_ + std::to_string(tid);
  UniqueFd run_time(::open((path + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  thread.has_account = run_time.valid();
  if (thread.has_account && may_be_held(run_time)) thread.run_time = std::move(run_time);
  // If the thread has ended already, its CPU time is not needed.
  if (!thread.has_account && ::access(path.c_str(), F_OK) == 0) ++without_times_;
}

// The number of an ended thread is still listed. If it is the process's first thread, it may be a
// zombie. Otherwise another thread has this number now, or an exec goes on under it.
void ThreadList::revive_if_used(ListedThread& thread) {
  const auto stat = stat_of(thread);
  if (stat && has_ended(stat->state)) return;
  thread.is_worker = stat && stat->is_worker();
  ended_.push_back(as_ended(thread));
  if (read_run_time(thread)) {
    thread.ended = false;
    thread.named = 0;
    thread.before = thread.ran;
    thread.seen_first = Clock::now();
  } else {
    begin(thread, raw(thread.tid));
  }
}

bool ThreadList::refresh() {
  ++listing_;
  ::rewinddir(dir_.get());
  while (const dirent* entry = ::readdir(dir_.get())) {
    const std::string_view name = entry->d_name;
    std::int32_t tid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    auto [known, fresh] = threads_.try_emplace(tid);
    if (fresh) {
      begin(known->second, tid);
    } else if (known->second.ended) {
      revive_if_used(known->second);
    }
    known->second.listing = listing_;
  }
  std::erase_if(threads_, [&](const auto& entry) {
    const bool gone = entry.second.listing != listing_;
    if (gone) ended_.push_back(as_ended(entry.second));
    return gone;
  });
  return !threads_.empty();
}

void ThreadList::start_over() {
  for (auto& [tid, thread] : threads_) {
    read_run_time(thread);
    thread.before = thread.ran;
    thread.seen_first = Clock::now();
    thread.credit = first_credit(tid, period_);
  }
}

ThreadList::Ended ThreadList::as_ended(const ListedThread& thread) {
  return {thread.tid, thread.ran - thread.before, Clock::now() - thread.seen_first};
}

std::vector<ThreadList::Ended> ThreadList::times() {
  std::vector<Ended> all;
  for (auto& [tid, thread] : threads_) {
    if (thread.ended) continue;
    read_run_time(thread);
    all.push_back(as_ended(thread));
  }
  return all;
}

std::vector<ThreadList::Ended> ThreadList::end_all() {
  for (auto& [tid, thread] : threads_) {
    read_run_time(thread);
    ended_.push_back(as_ended(thread));
  }
  threads_.clear();
  return take_ended();
}

void ThreadList::revive() {
  for (auto& [tid, thread] : threads_) {
    thread.ended = false;
    thread.named = 0;
  }
}

bool ThreadList::read_run_time(ListedThread& thread) {
  if (!thread.has_account) return false;
  UniqueFd own;
  if (!thread.run_time.valid()) {
    own.reset(::open((folder_ + std::to_string(raw(thread.tid)) + "/schedstat").c_str(),
                     O_RDONLY | O_CLOEXEC));
  }
  const int file = own.valid() ? own.get() : thread.run_time.get();
  std::array<char, 96> text;
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return false;
  const auto run = parse_run_time({text.data(), static_cast<std::size_t>(size)});
  if (!run) return false;
  const std::chrono::nanoseconds ran(run->ran_ns);
  thread.waited = std::chrono::nanoseconds(run->waited_ns);
  thread.credit += ran - thread.ran;
  thread.ran = ran;
  return true;
}

std::optional<ThreadStat> ThreadList::stat_of(const ListedThread& thread) const {
  return read_thread_stat(folder_ + std::to_string(raw(thread.tid)) + "/stat");
}

char ThreadList::state_of(const ListedThread& thread) const {
  const auto stat = stat_of(thread);
  return stat ? stat->state : '?';
}

bool ThreadList::runs_and_is_due(ListedThread& thread) {
  // Without schedstat the state alone decides, as if the thread had run for the whole period.
  if (!thread.has_account) {
    if (state_of(thread) != 'R') return false;
    thread.ran += period_;
    return true;
  }
  if (!read_run_time(thread)) {
    thread.ended = true;
    return false;
  }
  if (thread.credit < period_ / 2) return false;
  thread.credit = std::min(thread.credit, period_ * kMaxCredit);
  if (state_of(thread) != 'R') return false;
  thread.credit -= period_;
  return true;
}

bool ThreadList::was_on_processor(ListedThread& thread) {
  if (!thread.has_account) return true;
  const std::chrono::nanoseconds waited = thread.waited;
  return !read_run_time(thread) || thread.waited - waited < kShortWait ||
         thread.credit >= period_ * kMostWaiting;
}

void ThreadList::refresh_name(ListedThread& thread) {
  if (thread.named != 0 && listing_ - thread.named < kListingsPerName) return;
  thread.named = listing_;
  auto text = read_proc_file(folder_ + std::to_string(raw(thread.tid)) + "/comm");
  if (!text) return;
  if (text->ends_with('\n')) text->pop_back();
  thread.comm = *std::move(text);
}

}  // namespace labelscope
