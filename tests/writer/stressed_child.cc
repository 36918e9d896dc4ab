#include "writer/stressed_child.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <iomanip>
#include <new>
#include <sstream>
#include <thread>
#include <vector>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "support/catch.h"
#include "writer/checked_labels.h"
#include "writer/naive_writer.h"

// Before 2.38 glibc has no name for this member, which SIGEV_THREAD_ID needs.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace {

namespace cl = customlabels;
using Clock = std::chrono::steady_clock;

constexpr long kInterruptPeriodNs = 100'000;
constexpr std::chrono::seconds kPatience{60};
// The pause between two looks at the counters, so that these take no time from the threads.
constexpr int kMomentMs = 10;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kUpdates = 300'000;
constexpr std::uint64_t kInterrupts = 200;
#else
constexpr std::uint64_t kUpdates = 10'000'000;
constexpr std::uint64_t kInterrupts = 2'000;
#endif

// ---- in the child

thread_local StressedThread* own = nullptr;
thread_local unsigned own_number = 0;
thread_local std::atomic<bool> in_call{false};

std::string_view view(const custom_labels_string_t& string) {
  return {reinterpret_cast<const char*>(string.buf), string.len};
}

bool is_right(const custom_labels_labelset_t* set, std::uint64_t iteration) {
  SetCheck check;
  for (std::size_t i = 0; set != nullptr && i < set->count; ++i) {
    const custom_labels_label_t& label = set->storage[i];
    if (label.key.buf == nullptr || label.value.buf == nullptr) return false;
    check.add(view(label.key), view(label.value));
  }
  return check.passes(own_number, iteration > 0 ? iteration - 1 : 0, iteration);
}

void on_interrupt(int) {
  if (own == nullptr) return;
  own->interrupts.fetch_add(1, std::memory_order_relaxed);
  if (in_call.load(std::memory_order_relaxed))
    own->interrupts_in_calls.fetch_add(1, std::memory_order_relaxed);
  if (!is_right(custom_labels_current_set, own->iteration.load(std::memory_order_relaxed)))
    own->wrong_sets.fetch_add(1, std::memory_order_relaxed);
}

void interrupt_this_thread() {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer{};
  const itimerspec every = {{0, kInterruptPeriodNs}, {0, kInterruptPeriodNs}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &every, nullptr) != 0)
    _exit(2);
}

std::uint64_t cpu_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

[[noreturn]] void run_thread(StressedThread& shared, unsigned number, Iteration iteration) {
  own_number = number;
  own = &shared;
  cl::prepare();
  interrupt_this_thread();
  shared.tid.store(static_cast<pid_t>(syscall(SYS_gettid)));
  for (std::uint64_t i = 1;; ++i) {
    shared.iteration.store(i, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint64_t updates = iteration(number, i);
    shared.updates.fetch_add(updates, std::memory_order_relaxed);
    // A system call is where a tracer often stops a thread, so this is done where the set is not
    // empty.
    if (i % 1024 == 1) shared.cpu_ns.store(cpu_time_ns(), std::memory_order_relaxed);
  }
}

// Calls the library, and marks the call for the handler.
template <class Call>
void call(Call&& fn) {
  in_call.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  fn();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  in_call.store(false, std::memory_order_relaxed);
}

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

void update_set(custom_labels_labelset_t* set, std::string_view value) {
  const custom_labels_label_t labels[] = {{raw("g0"), raw(value)},
                                          {raw("g1"), raw(value)},
                                          {raw("g2"), raw(value)},
                                          {raw("set"), raw(value)}};
  call([&] { custom_labels_update(set, labels, 4); });
}

// Changes labels in scopes within scopes.
std::uint64_t change_in_scopes(unsigned thread, std::uint64_t iteration) {
  const CheckedText outer(CheckedNumber::make(thread, iteration, 2));
  const CheckedText solo(CheckedNumber::make(thread, iteration, 3));
  const CheckedText inner(CheckedNumber::make(thread, iteration, 4));
  const auto o = outer.view();
  const auto i = inner.view();
  call([&] {
    const cl::Scope scope{{"g0", o}, {"g1", o}, {"g2", o}, {"scope", o}};
    cl::set("solo", solo.view());
    {
      const cl::Scope within{{"scope", i}, {"g2", i}, {"g1", i}, {"g0", i}};
      cl::remove("solo");
    }
  });
  return 6;
}

// Builds a set, installs it, changes it while it is installed, and releases it.
std::uint64_t change_sets(unsigned thread, std::uint64_t iteration) {
  thread_local custom_labels_labelset_t* set = custom_labels_new(4);
  const CheckedText before(CheckedNumber::make(thread, iteration, 6));
  const CheckedText installed(CheckedNumber::make(thread, iteration, 7));
  update_set(set, before.view());
  call([&] {
    custom_labels_saved_t saved;
    custom_labels_thread_enter_set(&saved, set);
    update_set(set, installed.view());
    custom_labels_thread_leave(&saved);
  });
  return 3;
}

}  // namespace

std::uint64_t change_labels(unsigned thread, std::uint64_t iteration) {
  const CheckedText group(CheckedNumber::make(thread, iteration, 0));
  const CheckedText solo(CheckedNumber::make(thread, iteration, 1));
  const CheckedText longer(CheckedNumber::make(thread, iteration, 5));
  const CheckedText last(CheckedNumber::make(thread, iteration, 8));
  const auto g = group.view();
  const auto l = last.view();
  const std::uint64_t span = CheckedNumber::make(thread, iteration, 9);
  call([&] {
    cl::replace({{"g0", g}, {"g1", g}, {"g2", g}});
    cl::set("solo", solo.view());
    cl::set_trace(span, span);
    cl::set("solo", longer.view());
  });
  std::uint64_t updates = 4 + change_in_scopes(thread, iteration) + change_sets(thread, iteration);
  call([&] {
    cl::remove("solo");
    cl::update({{"g2", l}, {"g0", l}, {"g1", l}});
    cl::clear_trace();
  });
  updates += 3;
  if (iteration % 4 == 0) {
    call([] { cl::clear(); });
    ++updates;
  }
  return updates;
}

std::uint64_t change_labels_naively(unsigned thread, std::uint64_t iteration) {
  const CheckedText group(CheckedNumber::make(thread, iteration, 0));
  call([&] {
    naive_set_two("g0", group.c_str(), "g1", group.c_str());
    naive_set("g2", group.c_str());
  });
  return 3;
}

// ---- outside

StressedChild::StressedChild(Iteration iteration, unsigned threads) : threads_(threads) {
  REQUIRE(threads <= kMostThreads);
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  shared_ = new (memory) Shared;
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGPROF, &action, nullptr) != 0) _exit(2);
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
      running.emplace_back(run_thread, std::ref(shared_->threads[i]), i, iteration);
    for (std::thread& thread : running) thread.join();
    _exit(0);
  }
  pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  REQUIRE(pidfd_.get() >= 0);
  const auto all_run = [&] {
    for (unsigned i = 0; i < threads_; ++i) {
      if (thread(i).iteration.load() == 0) return false;
    }
    return true;
  };
  run_until(all_run, [this] { wait_a_moment(); });
}

StressedChild::~StressedChild() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

void StressedChild::wait_a_moment() const {
  pollfd end{pidfd_.get(), POLLIN, 0};
  poll(&end, 1, kMomentMs);
}

void StressedChild::run_until(const std::function<bool()>& condition,
                              const std::function<void()>& meanwhile) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition()) {
    meanwhile();
    INFO(summary());
    REQUIRE(waitpid(pid_, nullptr, WNOHANG) == 0);
    REQUIRE(Clock::now() < deadline);
  }
}

std::uint64_t StressedChild::updates() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < threads_; ++i) sum += thread(i).updates.load();
  return sum;
}

std::uint64_t StressedChild::wrong_sets() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < threads_; ++i) sum += thread(i).wrong_sets.load();
  return sum;
}

unsigned StressedChild::number_of(pid_t tid) const {
  for (unsigned i = 0; i < threads_; ++i) {
    if (thread(i).tid.load() == tid) return i;
  }
  return kMostThreads;
}

std::string StressedChild::summary() const {
  std::ostringstream text;
  for (unsigned i = 0; i < threads_; ++i) {
    const StressedThread& one = thread(i);
    const auto ns = static_cast<double>(one.cpu_ns.load());
    text << "thread " << i << ": " << one.updates.load() << " updates";
    if (ns > 0)
      text << std::setprecision(3) << ", " << 1000. * static_cast<double>(one.updates.load()) / ns
           << " million in a second of CPU time";
    text << ", " << one.interrupts.load() << " interrupts, " << one.interrupts_in_calls.load()
         << " of them in calls, " << one.wrong_sets.load() << " found a wrong set\n";
  }
  return text.str();
}

bool has_seen_enough(const StressedChild& child) {
  for (unsigned i = 0; i < child.threads(); ++i) {
    if (child.thread(i).interrupts.load() < kInterrupts) return false;
  }
  return child.updates() >= kUpdates;
}
