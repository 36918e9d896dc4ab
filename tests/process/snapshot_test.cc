// Tests a whole process read thread by thread, compared with what each thread printed about itself.
#include "sampling/snapshot.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "process/one_look.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/target_process.h"
#include "support/vfork.h"

namespace labelscope::test {
namespace {

TargetProcess start_crowd(std::vector<std::string> arguments) {
  TargetOptions options;
  options.program = paths::kCrowdProgram;
  options.arguments = std::move(arguments);
  options.ready_timeout = std::chrono::seconds(60);
  auto target = TargetProcess::spawn(options);
  if (!target) FAIL(target.error().context);
  return *std::move(target);
}

ProcessSnapshot require_snapshot(const TargetProcess& target, const SnapshotOptions& options = {}) {
  auto process = LiveProcess::open(target.pid());
  REQUIRE(process);
  auto plan = Planner().plan(**process);
  REQUIRE(plan);
  skip_without_ptrace();
  auto snapshot = snapshot_process(**process, *std::move(plan), options);
  if (!snapshot) FAIL(snapshot.error().context);
  return *std::move(snapshot);
}

void pin_to_one_processor(const TargetProcess& target) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  for (const TruthThread& truth : target.threads()) {
    REQUIRE(sched_setaffinity(raw(truth.tid), sizeof one, &one) == 0);
  }
}

// Checks that the labels of every thread that has printed its truth are that truth.
void check_against_truth(const ProcessSnapshot& snapshot, const TargetProcess& target) {
  std::map<Tid, const ThreadSnapshot*> seen;
  for (const ThreadSnapshot& thread : snapshot.threads) seen[thread.tid] = &thread;
  std::size_t wrong = 0;
  for (const TruthThread& truth : target.threads()) {
    auto found = seen.find(truth.tid);
    const bool right = found != seen.end() && found->second->seen.outcome == LS_LABELLED &&
                       found->second->seen.labels == truth.variables.front().labels &&
                       found->second->thread_pointer == truth.thread_pointer &&
                       found->second->problem.empty();
    if (right) continue;
    ++wrong;
    if (found == seen.end()) {
      WARN("thread " << raw(truth.tid) << " is not listed");
    } else {
      WARN("thread " << raw(truth.tid) << ": " << outcome_name(found->second->seen.outcome) << ", "
                     << found->second->problem << ", state " << found->second->state);
    }
  }
  CHECK(wrong == 0);
}

std::chrono::microseconds stop_at(const ProcessSnapshot& snapshot, double share) {
  std::vector<std::chrono::nanoseconds> held;
  for (const ThreadSnapshot& thread : snapshot.threads) held.push_back(thread.held);
  std::sort(held.begin(), held.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(held.size() - 1));
  return std::chrono::ceil<std::chrono::microseconds>(held[index]);
}

char state_of(Pid pid, Tid tid) {
  const std::string path =
      "/proc/" + std::to_string(raw(pid)) + "/task/" + std::to_string(raw(tid)) + "/stat";
  FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return '-';
  std::array<char, 256> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  const std::string_view line(text.data(), size);
  const std::size_t close = line.rfind(')');
  return close + 2 < line.size() ? line[close + 2] : '-';
}

}  // namespace

TEST_CASE("snapshot: a thousand threads, each with its own labels, and all of them right") {
  const TargetProcess target = start_crowd({"--threads", "1000"});
  const ProcessSnapshot snapshot = require_snapshot(target);
  REQUIRE(target.threads().size() == 1000);
  CHECK(snapshot.threads.size() == 1001);
  CHECK(snapshot.vanished == 0);
  CHECK_FALSE(snapshot.incomplete);
  check_against_truth(snapshot, target);
  const auto by_tid = [](const ThreadSnapshot& a, const ThreadSnapshot& b) {
    return a.tid < b.tid;
  };
  CHECK(std::is_sorted(snapshot.threads.begin(), snapshot.threads.end(), by_tid));
  // The thread may be anywhere in the list, since thread numbers may have wrapped around.
  const auto first =
      std::find_if(snapshot.threads.begin(), snapshot.threads.end(),
                   [](const ThreadSnapshot& thread) { return thread.name == "crowd-0"; });
  REQUIRE(first != snapshot.threads.end());
  CHECK(first->state == 'S');
  WARN("stops of 1,001 threads: median " << stop_at(snapshot, 0.5).count() << " us, longest "
                                         << stop_at(snapshot, 1).count() << " us");
}

TEST_CASE("snapshot: threads that work are read as well, and work on") {
  const TargetProcess target = start_crowd({"--threads", "50", "--stay", "work"});
  for (int i = 0; i < 5; ++i) check_against_truth(require_snapshot(target), target);
  for (const TruthThread& truth : target.threads()) {
    const char state = state_of(target.pid(), truth.tid);
    CHECK((state == 'S' || state == 'R'));
  }
}

// Each thread runs far more rarely than it is asked to stop.
TEST_CASE("snapshot: threads that all wait for one processor are all read") {
  const TargetProcess target = start_crowd({"--threads", "24", "--stay", "burn"});
  pin_to_one_processor(target);
  SnapshotOptions options;
  options.patience = std::chrono::seconds(20);  // the processor has other users, too
  check_against_truth(require_snapshot(target, options), target);
}

TEST_CASE("snapshot: who reads goes first from the first thread to the last") {
  const TargetProcess target = start_crowd({"--threads", "24", "--stay", "burn"});
  pin_to_one_processor(target);
  SnapshotOptions options;
  options.patience = std::chrono::seconds(20);  // the processor has other users, too
  // A thread that was slow to stop may be stopped while the reader holds no thread.
  std::atomic<pid_t> reader{0};
  std::atomic<bool> over{false};
  bool went_first = false;
  bool lost_it = false;
  options.while_held = [&](const ThreadSnapshot&, const MemorySource&) {
    went_first = ::sched_getscheduler(0) == SCHED_FIFO;
    reader = ::gettid();
  };
  std::thread watcher([&] {
    while (!over) {
      if (reader != 0 && ::sched_getscheduler(reader) == SCHED_OTHER) lost_it = true;
    }
  });
  const ProcessSnapshot snapshot = require_snapshot(target, options);
  over = true;
  watcher.join();
  if (!went_first) skip_test("real-time priority needs CAP_SYS_NICE");
  CHECK_FALSE(lost_it);
  check_against_truth(snapshot, target);
}

TEST_CASE("snapshot: threads that start and end meanwhile are no error") {
  const TargetProcess target = start_crowd({"--threads", "100", "--churn", "4"});
  for (int i = 0; i < 20; ++i) {
    const ProcessSnapshot snapshot = require_snapshot(target);
    check_against_truth(snapshot, target);
    for (const ThreadSnapshot& thread : snapshot.threads) {
      INFO(thread.problem);
      CHECK_FALSE(is_unreadable(thread.seen.outcome));
    }
  }
}

TEST_CASE(
    "snapshot: a process that ends meanwhile gives what was read, or says that it has ended") {
  for (int i = 0; i < 20; ++i) {
    auto target = std::make_unique<TargetProcess>(start_crowd({"--threads", "100"}));
    auto process = LiveProcess::open(target->pid());
    REQUIRE(process);
    auto plan = Planner().plan(**process);
    REQUIRE(plan);
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200 * i));
      ::kill(raw(target->pid()), SIGKILL);
    });
    auto snapshot = snapshot_process(**process, *std::move(plan), {});
    killer.join();
    if (!snapshot) {
      INFO(snapshot.error().context);
      CHECK(snapshot.error().code == ErrorCode::kVanished);
    } else {
      CHECK_FALSE(snapshot->threads.empty());
    }
  }
}

TEST_CASE("snapshot: stacks end at the thread's first function, and none is cut") {
  const TargetProcess target = start_crowd({"--threads", "20"});
  SnapshotOptions options;
  options.stacks = true;
  options.max_stop = std::chrono::seconds(20);
  const ProcessSnapshot snapshot = require_snapshot(target, options);
  for (const ThreadSnapshot& thread : snapshot.threads) {
    REQUIRE(thread.stack);
    INFO(thread.name << ": " << thread.stack->cut);
    CHECK(thread.stack->frames.size() >= 3);
    CHECK(thread.stack->cut.empty());
  }
}

namespace {

int files_with_code(Pid pid) {
  const auto process = LiveProcess::open(pid);
  REQUIRE(process);
  const MappingsOf mappings(**process);
  REQUIRE(mappings);
  std::set<FileId> files;
  for (const Mapping& mapping : *mappings) {
    if (mapping.executable && mapping.file) files.insert(mapping.file);
  }
  return static_cast<int>(files.size());
}

}  // namespace

TEST_CASE("snapshot: no thread is held while an unwind table is made") {
  const TargetProcess target = start_crowd({"--threads", "20"});
  SnapshotOptions options;
  options.stacks = true;
  options.max_stop = std::chrono::seconds(20);
  int made = 0;
  options.build_table = [&](UniqueFd file) {
    ++made;
    for (const TruthThread& truth : target.threads()) {
      CHECK(state_of(target.pid(), truth.tid) != 't');
    }
    return build_unwind_table(std::move(file));
  };
  const ProcessSnapshot snapshot = require_snapshot(target, options);
  // The program and libc. A word of a stack may also look like a return address of another file.
  CHECK(made >= 2);
  CHECK(made <= files_with_code(target.pid()));
  check_against_truth(snapshot, target);
  for (const ThreadSnapshot& thread : snapshot.threads) {
    REQUIRE(thread.stack);
    CHECK(thread.stack->cut.empty());
  }
}

TEST_CASE("snapshot: a stack that takes longer than allowed is cut, and says so") {
  const TargetProcess target = start_crowd({"--threads", "5"});
  SnapshotOptions options;
  options.stacks = true;
  options.max_stop = std::chrono::nanoseconds(1);
  for (const ThreadSnapshot& thread : require_snapshot(target, options).threads) {
    REQUIRE(thread.stack);
    CHECK(thread.stack->end == LS_STACK_OUT_OF_TIME);
    CHECK(thread.stack->frames.size() == 1);  // the leaf, from the registers
    CHECK_FALSE(thread.stack->cut.empty());
  }
}

TEST_CASE("snapshot: each thread is shown to the callback while it stands still") {
  const TargetProcess target = start_crowd({"--threads", "8", "--stay", "work"});
  std::map<Tid, char> states;
  SnapshotOptions options;
  options.while_held = [&](const ThreadSnapshot& thread, const MemorySource& memory) {
    states[thread.tid] = state_of(target.pid(), thread.tid);
    REQUIRE(thread.thread_pointer);
    std::byte first{};
    CHECK(memory.read(*thread.thread_pointer, std::span(&first, 1)));
  };
  const ProcessSnapshot snapshot = require_snapshot(target, options);
  CHECK(states.size() == 9);
  for (const auto& [tid, state] : states) CHECK(state == 't');
}

TEST_CASE("snapshot: a process that has executed another program since it was planned is refused") {
  std::array<int, 2> go{};
  REQUIRE(::pipe2(go.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    [[maybe_unused]] auto got = ::read(go[0], &byte, 1);
    ::execl("/bin/sleep", "sleep", "100", nullptr);
    ::_exit(1);
  }
  auto process = LiveProcess::open(Pid{child});
  REQUIRE(process);
  auto plan = Planner().plan(**process);
  REQUIRE(plan);
  REQUIRE(::write(go[1], "x", 1) == 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!(*process)->has_replaced_program() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  auto snapshot = snapshot_process(**process, *std::move(plan), {});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int fd : go) ::close(fd);
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().code == ErrorCode::kVanished);
  INFO(snapshot.error().context);
  CHECK(snapshot.error().context.find("another program") != std::string::npos);
}

TEST_CASE(
    "snapshot: threads that wait uninterruptibly are reported, and delay the others only briefly") {
  skip_without_vfork();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::vfork() == 0) {
      for (;;) ::pause();
    }
    ::_exit(0);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (state_of(Pid{child}, Tid{child}) != 'D' && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  auto process = LiveProcess::open(Pid{child});
  REQUIRE(process);
  SnapshotOptions options;
  options.patience = std::chrono::milliseconds(50);
  auto snapshot = snapshot_process(**process, {}, options);
  // The process that borrows the memory is a child of the child.
  const std::string children_path =
      "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children";
  if (FILE* file = std::fopen(children_path.c_str(), "r")) {
    int borrower = 0;
    if (std::fscanf(file, "%d", &borrower) == 1) ::kill(borrower, SIGKILL);
    std::fclose(file);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE(snapshot);
  REQUIRE(snapshot->threads.size() == 1);
  const ThreadSnapshot& thread = snapshot->threads.front();
  CHECK(thread.state == 'D');
  CHECK(thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(thread.problem.find("does not stop") != std::string::npos);
}

TEST_CASE("snapshot: hundreds of threads that wait uninterruptibly are not waited for one by one") {
  skip_without_vfork();
  constexpr int kThreads = 200;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setpgid(0, 0);  // a group to kill, since vfork children share its memory
    const auto wait_in_vfork = [](void*) -> void* {
      if (::vfork() == 0) {
        for (;;) ::pause();
      }
      return nullptr;
    };
    for (int i = 0; i < kThreads; ++i) {
      pthread_t thread{};
      if (::pthread_create(&thread, nullptr, wait_in_vfork, nullptr) != 0) ::_exit(1);
    }
    for (;;) ::pause();
  }
  auto process = LiveProcess::open(Pid{child});
  REQUIRE(process);
  const auto waiting = [&] {
    auto tids = (*process)->threads();
    if (!tids) return std::ptrdiff_t{0};
    return std::count_if(tids->begin(), tids->end(),
                         [&](Tid tid) { return state_of(Pid{child}, tid) == 'D'; });
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (waiting() < kThreads && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  SnapshotOptions options;
  options.patience = std::chrono::milliseconds(0);
  // The bound is the time that each run would take if every thread were waited for like one that
  // runs: 10 ms each. A busy machine may delay the reader, so one fast run of three is enough.
  constexpr auto kBound = kThreads * std::chrono::milliseconds(10);
  auto elapsed = std::chrono::steady_clock::duration::max();
  Result<ProcessSnapshot> snapshot = Error{ErrorCode::kSystem, "none was taken"};
  for (int attempt = 0; attempt < 3 && elapsed >= kBound; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    snapshot = snapshot_process(**process, {}, options);
    elapsed = std::chrono::steady_clock::now() - start;
  }
  ::kill(-child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE(snapshot);
  const auto late = std::count_if(
      snapshot->threads.begin(), snapshot->threads.end(),
      [](const ThreadSnapshot& thread) { return thread.state == 'D' && !thread.problem.empty(); });
  CHECK(late == kThreads);
  CHECK(elapsed < kBound);
}

TEST_CASE("snapshot: what the callback throws reaches the caller, and the thread is let go") {
  const TargetProcess target = start_crowd({"--threads", "4"});
  SnapshotOptions options;
  options.while_held = [](const ThreadSnapshot&, const MemorySource&) {
    throw std::runtime_error("the callback's own");
  };
  CHECK_THROWS_AS(require_snapshot(target, options), std::runtime_error);
  for (const TruthThread& truth : target.threads()) {
    const char state = state_of(target.pid(), truth.tid);
    CHECK((state == 'S' || state == 'R'));
  }
}

std::atomic<int> signals_heard{0};

TEST_CASE("snapshot: the caller hears its signals while threads are held") {
  const TargetProcess target = start_crowd({"--threads", "1"});
  struct sigaction hear {};
  struct sigaction before {};
  hear.sa_handler = [](int) { ++signals_heard; };
  REQUIRE(::sigaction(SIGUSR1, &hear, &before) == 0);
  SnapshotOptions options;
  options.while_held = [](const ThreadSnapshot&, const MemorySource&) {
    const int heard = signals_heard;
    ::kill(::getpid(), SIGUSR1);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (signals_heard == heard && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(signals_heard > heard);
  };
  require_snapshot(target, options);
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
}

}  // namespace labelscope::test
