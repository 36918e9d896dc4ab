// ThreadList, and how threads are chosen by CPU time.
//
// A thread in state R runs, or would if a processor were free: sampling all of these at each tick
// counts waiting for a processor as time on one. And labelscope itself takes a processor from one
// of them just when it looks. So the kernel's count of each thread's CPU time decides how many
// samples a thread gets, and its state when. Each period of CPU time is one credit, and a thread is
// sampled when it has more than half a credit and is in state R; half a credit, so that a sample
// stands for what was run before and after it. A new thread starts with a random part of a credit,
// so that of many short-lived ones the right share is met.
//
// A thread may be in state R and still in the system call that it waited in, because its wait has
// just ended; or it waits again when we stop it. It is on no processor then, the credit is given
// back, and a later tick finds it where its time goes. (Threads that work for less time than they
// wait would be sampled in the call that they wait in, mostly.)
//
// One that waits for a processor stops when it gets one, at the end of its last turn: on a busy
// machine turns are as long as the scheduler's ticks are apart, and work of nearly that period
// would be seen at the same moments again and again. So it is given back, too, as long as there is
// hope to find it on a processor.
//
// A thread that is never found in state R gets no sample: its credit is kept up to a bound, so that
// one long oversight does not make a thread be sampled at every tick for long.
#include "sampling/thread_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>

#include "labelscope/cpu_times.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

// In periods.
constexpr int kMaxCredit = 8;
// With so much credit a thread is sampled where it waits for a processor: it may never be seen on
// one, as on a machine with one that labelscope has at that moment.
constexpr int kMostWaiting = 4;
// A thread's name is read again after so many listings: a name is set once, mostly.
constexpr std::uint64_t kListingsPerName = 64;

// -1/2 to 1/2 of the period, different for every thread.
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
  const std::string path = folder_ + std::to_string(tid);
  thread.run_time.reset(::open((path + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  // That it has ended already is no matter.
  if (!thread.run_time.valid() && ::access(path.c_str(), F_OK) == 0) ++untold_;
}

// A first thread that has ended stays in the list, as a zombie. Any other number that is there
// again is another thread's; or an exec has revived it.
void ThreadList::revive_if_used(ListedThread& thread) {
  if (has_ended(state_of(thread))) return;
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
  std::array<char, 96> text;
  const ssize_t size = ::pread(thread.run_time.get(), text.data(), text.size(), 0);
  if (size <= 0) return false;
  const auto run = parse_run_time({text.data(), static_cast<std::size_t>(size)});
  if (!run) return false;
  const std::chrono::nanoseconds ran(run->ran_ns);
  thread.turns = run->turns;
  thread.credit += ran - thread.ran;
  thread.ran = ran;
  return true;
}

char ThreadList::state_of(const ListedThread& thread) const {
  auto stat = read_thread_stat(folder_ + std::to_string(raw(thread.tid)) + "/stat");
  return stat ? stat->state : '?';
}

bool ThreadList::runs_and_is_due(ListedThread& thread) {
  // Without schedstat: by its state alone, and as if it had run all the time since.
  if (!thread.run_time.valid()) {
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
  if (!thread.run_time.valid()) return true;
  const std::uint64_t turns = thread.turns;
  return !read_run_time(thread) || thread.turns == turns || thread.credit >= period_ * kMostWaiting;
}

void ThreadList::refresh_name(ListedThread& thread) {
  if (thread.named != 0 && listing_ - thread.named < kListingsPerName) return;
  thread.named = listing_;
  auto text = read_proc_file(folder_ + std::to_string(raw(thread.tid)) + "/comm");
  if (!text) return;
  if (!text->empty() && text->back() == '\n') text->pop_back();
  thread.comm = *std::move(text);
}

}  // namespace labelscope
