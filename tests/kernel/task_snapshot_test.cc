// Iterators read all threads of a process while these run, sleep, are stopped, traced or end.
#include "bpf/snapshot/task_snapshot.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr int kWorkers = 40;

std::unique_ptr<BpfProcess> open_process(Pid pid) {
  skip_without_bpf_snapshot();
  auto process = BpfProcess::open(pid);
  INFO((process ? "" : process.error().context));
  REQUIRE(process);
  return *std::move(process);
}

ProcessPlan plan_of(const SampledChild& child) {
  ProcessPlan plan;
  Publisher publisher;
  publisher.recipe = child.recipe();
  plan.publishers.push_back(publisher);
  return plan;
}

ProcessSnapshot take(const BpfProcess& process, const SampledChild& child) {
  auto snapshot = snapshot_by_bpf(process, plan_of(child));
  INFO((snapshot ? "" : snapshot.error().context));
  REQUIRE(snapshot);
  return *std::move(snapshot);
}

const ThreadSnapshot& thread_of(const ProcessSnapshot& snapshot, int tid) {
  for (const ThreadSnapshot& thread : snapshot.threads) {
    if (raw(thread.tid) == tid) return thread;
  }
  FAIL("thread " << tid << " is missing");
  return snapshot.threads.front();
}

// Returns the state that the kernel reports in /proc.
char state_in_proc(int pid, int tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.at(text.rfind(')') + 2);
}

void wait_for_state(const SampledChild& child, char state) {
  wait_for([&] { return state_in_proc(raw(child.pid()), raw(child.pid())) == state; });
}

// Starts threads that label themselves by number, have a name of their own, and sleep.
void run_workers(ChildSide& parent) {
  static ChildSide* speaker = nullptr;
  speaker = &parent;
  auto work = [](void* argument) -> void* {
    const auto number = reinterpret_cast<std::uintptr_t>(argument);
    prctl(PR_SET_NAME, ("worker " + std::to_string(number)).c_str());
    // Every third thread has no label.
    std::vector<custom_labels_label_t> slots = {label("worker", std::to_string(number))};
    if (number % 3 != 0) publish_labels(slots);
    speaker->say(static_cast<std::uint64_t>(gettid()));
    for (;;) pause();
  };
  for (std::uintptr_t i = 0; i < kWorkers; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, reinterpret_cast<void*>(i)) != 0) _exit(1);
    parent.wait_until_told();
    parent.take();
  }
  for (;;) pause();
}

// Receives the tids of run_workers(), by number.
std::vector<int> hear_workers(SampledChild& child) {
  std::vector<int> tids;
  for (int i = 0; i < kWorkers; ++i) {
    tids.push_back(static_cast<int>(child.hear()));
    child.tell();
  }
  return tids;
}

void require_workers(const ProcessSnapshot& snapshot, const std::vector<int>& tids) {
  REQUIRE(snapshot.threads.size() == tids.size() + 1);
  for (std::size_t i = 0; i < tids.size(); ++i) {
    const ThreadSnapshot& thread = thread_of(snapshot, tids[i]);
    REQUIRE(thread.name == "worker " + std::to_string(i));
    REQUIRE(thread.problem.empty());
    if (i % 3 == 0) {
      REQUIRE(thread.seen.outcome == LS_UNLABELLED);
    } else {
      REQUIRE(thread.seen.labels == LabelSet{{"worker", std::to_string(i), 0}});
    }
  }
}

// Spends some steps between two stores, both of which are done, so that a reader meets the state
// between them.
void burn_a_little(int steps) {
  __asm__ volatile("" ::: "memory");
  volatile int i = 0;
  while (i < steps) i = i + 1;
}

}  // namespace

TEST_CASE("task_snapshot: every thread has its own labels, name and state, and sleeps on") {
  SampledChild child(run_workers);
  const std::vector<int> tids = hear_workers(child);
  auto process = open_process(child.pid());
  const auto sleeps = [&](int tid) { return state_in_proc(raw(child.pid()), tid) == 'S'; };
  // The first thread, which has reported the workers, is not one of them.
  wait_for(
      [&] { return sleeps(raw(child.pid())) && std::all_of(tids.begin(), tids.end(), sleeps); });
  ProcessSnapshot snapshot = take(*process, child);
  // A thread that was seen asleep may have run once more since, before its last sleep.
  wait_for([&] {
    const bool all_sleep = std::all_of(snapshot.threads.begin(), snapshot.threads.end(),
                                       [](const auto& thread) { return thread.state == 'S'; });
    if (!all_sleep) snapshot = take(*process, child);
    return all_sleep;
  });
  REQUIRE(snapshot.source == SnapshotSource::kBpf);
  REQUIRE(snapshot.pid == child.pid());
  REQUIRE(snapshot.comm == process->comm());
  REQUIRE(snapshot.vanished == 0);
  require_workers(snapshot, tids);
  for (const ThreadSnapshot& thread : snapshot.threads) {
    REQUIRE(thread.state == 'S');
    REQUIRE(thread.thread_pointer);
    REQUIRE(thread.held.count() == 0);
  }
  REQUIRE(std::is_sorted(snapshot.threads.begin(), snapshot.threads.end(),
                         [](const auto& a, const auto& b) { return a.tid < b.tid; }));
}

TEST_CASE("task_snapshot: a process that is stopped, or that another tracer holds, is read too") {
  SampledChild child(run_workers);
  const std::vector<int> tids = hear_workers(child);
  auto process = open_process(child.pid());
  SECTION("stopped") {
    REQUIRE(kill(raw(child.pid()), SIGSTOP) == 0);
    wait_for_state(child, 'T');
    require_workers(take(*process, child), tids);
    REQUIRE(thread_of(take(*process, child), raw(child.pid())).state == 'T');
  }
  SECTION("traced") {
    // The tracer is another thread, since the holder of a thread could look at it in any case.
    std::atomic<int> step{0};
    skip_without_ptrace();
    std::thread tracer([&] {
      const int pid = raw(child.pid());
      const bool held = ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 &&
                        ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0 &&
                        waitpid(pid, nullptr, __WALL) == pid;
      step = held ? 1 : -1;
      while (step == 1) std::this_thread::yield();
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    });
    wait_for([&] { return step != 0; });
    const bool held = step == 1;
    auto snapshot = snapshot_by_bpf(*process, plan_of(child));
    step = 2;
    tracer.join();
    REQUIRE(held);
    REQUIRE(snapshot);
    require_workers(*snapshot, tids);
    REQUIRE(thread_of(*snapshot, raw(child.pid())).state == 't');
  }
}

TEST_CASE("task_snapshot: a thread that updates its labels shows one of its sets") {
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> one = {label("set", "one"), label("a", "1")};
    std::vector<custom_labels_label_t> two = {label("set", "two"), label("b", "2"),
                                              label("c", "3")};
    custom_labels_labelset_t first{one.data(), one.size(), one.size()};
    custom_labels_labelset_t second{two.data(), two.size(), two.size()};
    publish(&first);
    parent.say(1);
    while (!parent.told()) {
      for (int i = 0; i < 20000; ++i) {
        publish(&first);
        publish(nullptr);
        publish(&second);
      }
    }
  });
  child.hear();
  auto process = open_process(child.pid());
  std::map<LabelSet, int> seen;
  wait_for([&] {
    for (const ThreadSnapshot& thread : take(*process, child).threads) {
      if (thread.tid == Tid{raw(child.pid())}) ++seen[thread.seen.labels];
    }
    return seen.size() >= 3;
  });
  REQUIRE(seen.size() == 3);
  REQUIRE(seen.count({{"set", "one", 0}, {"a", "1", 0}}) == 1);
  REQUIRE(seen.count({{"set", "two", 0}, {"b", "2", 0}, {"c", "3", 0}}) == 1);
  REQUIRE(seen.count({}) == 1);
}

TEST_CASE("task_snapshot: sets that change in every byte are read within bounds or flagged") {
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots(64, label("key", "value"));
    auto* set = new custom_labels_labelset_t{slots.data(), slots.size(), slots.size()};
    publish(set);
    parent.say(1);
    std::uint64_t random = 88172645463325252ULL;
    auto next = [&random] {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      return random;
    };
    const custom_labels_label_t good = slots[0];
    while (!parent.told()) {
      for (int i = 0; i < 5000; ++i) {
        custom_labels_label_t& slot = slots[next() % slots.size()];
        slot.key.len = next() % 7 == 0 ? next() : next() % 300;
        if (next() % 5 == 0) slot.value.buf = reinterpret_cast<unsigned char*>(next());
        if (next() % 5 == 0) set->count = next() % 2 == 0 ? next() : next() % 65;
        // Half of the time the labels are whole.
        burn_a_little(200);
        slot = good;
        set->count = slots.size();
        burn_a_little(200);
      }
    }
  });
  child.hear();
  auto process = open_process(child.pid());
  std::map<unsigned, int> outcomes;
  int rounds = 0;
  // The memory must change under the reader. The child runs when other programs let it.
  wait_for([&] {
    const ProcessSnapshot snapshot = take(*process, child);
    const Observation& seen = thread_of(snapshot, raw(child.pid())).seen;
    ++outcomes[seen.outcome];
    REQUIRE((seen.outcome == LS_LABELLED) == !seen.labels.empty());
    REQUIRE(seen.labels.size() <= LS_MAX_LABELS);
    std::size_t bytes = 0;
    for (const Label& one : seen.labels) bytes += one.key.size() + one.value.size();
    REQUIRE(bytes <= LS_MAX_LABEL_BYTES);
    return ++rounds >= 300 && outcomes.size() >= 3;
  });
}

TEST_CASE("task_snapshot: a page that is not in memory is brought in") {
  SampledChild child([](ChildSide& parent) {
    const int file = memfd_create("labels", 0);
    if (ftruncate(file, 65536) != 0 || pwrite(file, "from the file", 13, 32768) < 0) _exit(1);
    void* base = mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE, file, 0);
    if (base == MAP_FAILED) _exit(1);
    std::vector<custom_labels_label_t> slots = {label("a", "")};
    slots[0].value = {13, static_cast<const unsigned char*>(base) + 32768};
    publish_labels(slots);
    parent.say(1);
    for (;;) pause();
  });
  child.hear();
  auto process = open_process(child.pid());
  const ProcessSnapshot snapshot = take(*process, child);
  REQUIRE(snapshot.threads.front().seen.labels == LabelSet{{"a", "from the file", 0}});
}

TEST_CASE("task_snapshot: an unmapped pointer is unreadable, a missing recipe has its reason") {
  SampledChild child([](ChildSide& parent) {
    publish(reinterpret_cast<custom_labels_labelset_t*>(0x10));
    parent.say(1);
    for (;;) pause();
  });
  child.hear();
  auto process = open_process(child.pid());
  REQUIRE(take(*process, child).threads.front().seen.outcome == LS_UNREADABLE_NOT_RESIDENT);
  ProcessPlan plan = plan_of(child);
  plan.publishers[0].recipe.kind = LS_RECIPE_NOT_RELOCATED;
  auto snapshot = snapshot_by_bpf(*process, plan);
  REQUIRE(snapshot);
  REQUIRE(snapshot->threads.front().seen.outcome == LS_UNREADABLE_NOT_RELOCATED);
  REQUIRE(snapshot->plan.publishers.size() == 1);
  auto without = snapshot_by_bpf(*process, ProcessPlan());
  REQUIRE(without);
  REQUIRE(without->threads.front().seen.outcome == LS_UNLABELLED);
}

TEST_CASE("task_snapshot: a first thread that has ended is listed as such, the others are read") {
  SampledChild child([](ChildSide& parent) {
    static ChildSide* speaker = nullptr;
    speaker = &parent;
    pthread_t thread;
    auto work = [](void*) -> void* {
      std::vector<custom_labels_label_t> slots = {label("left", "alone")};
      publish_labels(slots);
      speaker->wait_until_told();
      speaker->say(static_cast<std::uint64_t>(gettid()));
      for (;;) pause();
    };
    if (pthread_create(&thread, nullptr, work, nullptr) != 0) _exit(1);
    parent.wait_until_told();
    syscall(SYS_exit, 0);  // this thread alone
  });
  auto process = open_process(child.pid());
  child.tell();
  const int left = static_cast<int>(child.hear());
  wait_for_state(child, 'Z');
  const ProcessSnapshot snapshot = take(*process, child);
  REQUIRE(snapshot.threads.size() == 2);
  const ThreadSnapshot& first = thread_of(snapshot, raw(child.pid()));
  REQUIRE(first.seen.outcome == LS_UNREADABLE_VANISHED);
  REQUIRE(first.state == 'Z');
  REQUIRE_FALSE(first.problem.empty());
  REQUIRE(thread_of(snapshot, left).seen.labels == LabelSet{{"left", "alone", 0}});
  // The process's memory can be read through the threads that are left.
  REQUIRE(read_value<std::uint64_t>(process->memory(), *thread_of(snapshot, left).thread_pointer));
}

TEST_CASE("task_snapshot: a process that executes another program or ends is not mixed up") {
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    parent.wait_until_told();
    parent.take();
    // Its input is the pipe, so it ends with the test.
    dup2(parent.input(), 0);
    execl("/bin/cat", "cat", nullptr);
    _exit(1);
  });
  child.hear();
  auto process = open_process(child.pid());
  take(*process, child);
  child.tell();
  wait_for([&] { return process->comm() == "cat"; });
  auto snapshot = snapshot_by_bpf(*process, plan_of(child));
  REQUIRE_FALSE(snapshot);
  REQUIRE(snapshot.error().code == ErrorCode::kVanished);
  REQUIRE(open_process(child.pid())->memory().read(0, {}));

  child.kill();
  child.wait();
  snapshot = snapshot_by_bpf(*process, plan_of(child));
  REQUIRE_FALSE(snapshot);
  REQUIRE(snapshot.error().code == ErrorCode::kVanished);
}

#if defined(__x86_64__)
// A first thread on aarch64 looks like this until it is switched out for the first time.
TEST_CASE("task_snapshot: a thread without a saved thread pointer says so") {
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    // From here on there is no thread-local storage, so the libc cannot be used.
    __asm__ volatile(
        "syscall\n"
        "1: mov %[pause], %%eax\n"
        "syscall\n"
        "jmp 1b\n"
        :
        : "a"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(0), [pause] "i"(SYS_pause)
        : "rcx", "r11", "memory");
  });
  child.hear();
  auto process = open_process(child.pid());
  wait_for([&] {
    const ProcessSnapshot snapshot = take(*process, child);
    const ThreadSnapshot& thread = thread_of(snapshot, raw(child.pid()));
    if (thread.thread_pointer) return false;
    REQUIRE(thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER);
    REQUIRE_FALSE(thread.problem.empty());
    return true;
  });
}
#endif

TEST_CASE("task_snapshot: memory is read in pieces, from several threads, or refused whole") {
  constexpr std::size_t kSize = 300'000;
  SampledChild child([](ChildSide& parent) {
    auto* bytes = static_cast<std::uint32_t*>(
        mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < kSize / 4; ++i)
      bytes[i] = static_cast<std::uint32_t>(i * 2654435761U);
    parent.say(reinterpret_cast<std::uint64_t>(bytes));
    for (;;) pause();
  });
  const Address start = child.hear();
  auto process = open_process(child.pid());
  const MemorySource& memory = process->memory();
  std::atomic<int> right{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      std::vector<std::uint32_t> words(kSize / 4);
      if (!memory.read(start, std::as_writable_bytes(std::span(words)))) return;
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] != static_cast<std::uint32_t>(i * 2654435761U)) return;
      }
      ++right;
    });
  }
  for (std::thread& reader : readers) reader.join();
  REQUIRE(right == 3);
  REQUIRE(read_value<std::uint32_t>(memory, start + 4).value() == 2654435761U);
  Status unmapped = memory.read(8, std::as_writable_bytes(std::span(&right, 1)));
  REQUIRE_FALSE(unmapped);
  REQUIRE(unmapped.error().code == ErrorCode::kUnreadable);
}
