// Fork, exec, exit and new mappings of processes that are sampled.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "process/proc_fs.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

std::vector<custom_labels_label_t> named(const std::string& name) { return {label("who", name)}; }

[[noreturn]] void exec_busy_shell() {
  execl("/bin/sh", "sh", "-c", "while :; do :; done", static_cast<char*>(nullptr));
  _exit(1);
}

bool contains(const std::vector<Pid>& pids, Pid pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

std::unique_ptr<BpfSampler> started(const SampledChild& child, SamplerOptions options) {
  options.frequency_hz = 999;
  auto sampler = open_sampler(options);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  return sampler;
}

// Forks at the parent's word; child and grandchild burn CPU time with labels of their own.
void fork_when_told(ChildSide& parent) {
  auto slots = named("parent");
  publish_labels(slots);
  parent.wait_until_told();
  parent.take();
  pid_t pid = fork();
  if (pid == 0) {
    auto own = named("child");
    publish_labels(own);
    burn([&] { return parent.told(); });
    _exit(0);
  }
  parent.say(static_cast<std::uint64_t>(pid));
  burn([&] { return parent.told(); });
  waitpid(pid, nullptr, 0);
}

}  // namespace

TEST_CASE("sampler: a forked child is reported and sampled with its parent's recipes") {
  SampledChild child(fork_when_told);
  auto sampler = started(child, {});
  child.tell();
  Pid grandchild{static_cast<std::int32_t>(child.hear())};
  Taken taken;
  auto labels_of = [&](Pid pid, const char* who) {
    return std::count_if(
        taken.samples.begin(), taken.samples.end(), [&](const TakenSample& sample) {
          return sample.pid == pid && sample.seen.labels == LabelSet{{"who", who, 0}};
        });
  };
  drain_until(*sampler, taken, [&] {
    return labels_of(grandchild, "child") >= 20 && labels_of(child.pid(), "parent") >= 20;
  });
  REQUIRE(taken.forks == std::vector<std::pair<Pid, Pid>>{{child.pid(), grandchild}});
  REQUIRE(labels_of(child.pid(), "child") == 0);
  child.tell();
  drain_until(*sampler, taken, [&] {
    return contains(taken.exits, grandchild) && contains(taken.exits, child.pid());
  });
  stop_and_balance(*sampler, taken);
}

TEST_CASE("sampler: children are not followed if that is not wanted") {
  SampledChild child(fork_when_told);
  auto sampler = started(child, {.follow_children = false});
  child.tell();
  child.hear();
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 50; });
  stop_and_balance(*sampler, taken);
  REQUIRE(taken.forks.empty());
  for (const TakenSample& sample : taken.samples) REQUIRE(sample.pid == child.pid());
}

TEST_CASE("sampler: a child for which there is no room is counted") {
  SampledChild child(fork_when_told);
  auto sampler = started(child, {.max_processes = 1});
  child.tell();
  child.hear();
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 20; });
  Counters counters = stop_and_balance(*sampler, taken);
  REQUIRE(taken.forks.empty());
  REQUIRE(counters.others[Counter::kChildrenNotFollowed] == 1);
  SampledChild second([](ChildSide& parent) { parent.burn_until_told(); });
  Status status = sampler->set_process(second.pid(), {});
  REQUIRE_FALSE(status);
  REQUIRE(status.error().code == ErrorCode::kLimit);
}

TEST_CASE("sampler: after exec the old recipes are not used, until new ones are set") {
  bool from_thread = GENERATE(false, true);
  SampledChild child([&](ChildSide& parent) {
    auto slots = named("before");
    publish_labels(slots);
    parent.burn_until_told();
    if (!from_thread) exec_busy_shell();
    // The thread takes over the process: its number becomes the main thread's.
    pthread_t thread;
    auto run = [](void*) -> void* { exec_busy_shell(); };
    if (pthread_create(&thread, nullptr, run, nullptr) == 0) pause();
  });
  auto sampler = started(child, {});
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_LABELLED) >= 20; });
  child.tell();
  // The kernel side has seen the exec before anything was drained.
  wait_for([&] { return sampler->counters().outcomes[LS_UNREADABLE_NOT_RELOCATED] > 0; });
  // The event is on its way, but the handler does not know of it: its plan is of the old program.
  Status too_early = sampler->set_process(child.pid(), {});
  REQUIRE_FALSE(too_early);
  REQUIRE(too_early.error().code == ErrorCode::kVanished);

  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNREADABLE_NOT_RELOCATED) >= 20; });
  REQUIRE(taken.execs == std::vector<Pid>{child.pid()});
  REQUIRE(sampler->set_process(child.pid(), {}));
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNLABELLED) >= 20; });
  stop_and_balance(*sampler, taken);
  for (const TakenSample& sample : taken.samples) {
    if (sample.comm == "sh") REQUIRE(sample.seen.labels.empty());
  }
}

TEST_CASE("sampler: no exec is lost, however often the recipes are set meanwhile") {
  // Executes a shell that executes itself, each time a few hundred microseconds later, and then
  // burns CPU time.
  SampledChild child([](ChildSide& parent) {
    auto slots = named("before");
    publish_labels(slots);
    parent.wait_until_told();
    const char* script = "[ $1 -gt 0 ] && exec sh -c \"$0\" \"$0\" $(($1-1)); while :; do :; done";
    execl("/bin/sh", "sh", "-c", script, script, "300", static_cast<char*>(nullptr));
    _exit(1);
  });
  auto sampler = started(child, {});
  Taken taken;
  child.tell();
  while (taken.execs.size() < 301) {
    for (int i = 0; i < 50; ++i) {
      static_cast<void>(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    }
    REQUIRE(sampler->drain(taken, std::chrono::milliseconds(0)));
  }
  REQUIRE(sampler->set_process(child.pid(), {}));
  std::size_t unlabelled = taken.of_outcome(LS_UNLABELLED);
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_UNLABELLED) >= unlabelled + 20; });
  stop_and_balance(*sampler, taken);
}

TEST_CASE("sampler: a process ends with its last thread, not with its first") {
  SampledChild child([](ChildSide& parent) {
    static ChildSide* up = &parent;
    pthread_t thread;
    auto work = [](void*) -> void* {
      burn([] { return up->told(); });
      _exit(0);
    };
    if (pthread_create(&thread, nullptr, work, nullptr) != 0) _exit(1);
    pthread_setname_np(thread, "of-thread");
    prctl(PR_SET_NAME, "of-process");
    syscall(SYS_exit, 0);
  });
  auto sampler = started(child, {});
  Taken taken;
  drain_until(*sampler, taken, [&] {
    return std::count_if(taken.samples.begin(), taken.samples.end(),
                         [&](const TakenSample& sample) {
                           return raw(sample.tid) != raw(child.pid());
                         }) >= 50;
  });
  REQUIRE(taken.exits.empty());
  child.tell();
  drain_until(*sampler, taken, [&] { return !taken.exits.empty(); });
  REQUIRE(taken.exits == std::vector<Pid>{child.pid()});
  CHECK(taken.last_names[child.pid()] == "of-process");
  Status status = sampler->set_process(child.pid(), {});
  stop_and_balance(*sampler, taken);
}

TEST_CASE("sampler: a process that has ended cannot be set") {
  int ended = 0;
  {
    SampledChild child([](ChildSide&) {});
    child.wait();
    ended = raw(child.pid());
  }
  auto sampler = open_sampler();
  Status status = sampler->set_process(Pid{ended}, {});
  REQUIRE_FALSE(status);
  REQUIRE(status.error().code == ErrorCode::kVanished);
}

TEST_CASE("sampler: a zombie cannot be set, and a process without its first thread can") {
  auto sampler = open_sampler();
  const SampledChild zombie([](ChildSide&) {});
  wait_for([&] {
    const auto stat = read_thread_stat("/proc/" + std::to_string(raw(zombie.pid())) + "/stat");
    return stat && has_ended(stat->state);
  });
  const Status status = sampler->set_process(zombie.pid(), {});
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kVanished);

  SampledChild headless([](ChildSide& parent) {
    static ChildSide* up = &parent;
    pthread_t thread;
    auto work = [](void*) -> void* {
      up->wait_until_told();
      _exit(0);
    };
    if (pthread_create(&thread, nullptr, work, nullptr) != 0) _exit(1);
    syscall(SYS_exit, 0);
  });
  wait_for([&] {
    const auto stat = read_thread_stat("/proc/" + std::to_string(raw(headless.pid())) + "/stat");
    return stat && has_ended(stat->state);
  });
  CHECK(sampler->set_process(headless.pid(), {}));
}

TEST_CASE("sampler: a removed process is not sampled any more") {
  SampledChild child([](ChildSide& parent) { parent.burn_until_told(); });
  auto sampler = started(child, {});
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 20; });
  const auto see_others = [&] {
    const std::uint64_t then = sampler->counters().others[Counter::kOfOtherProcesses];
    drain_until(*sampler, taken, [&] {
      return sampler->counters().others[Counter::kOfOtherProcesses] > then + 100;
    });
  };
  REQUIRE(sampler->remove_process(child.pid()));
  const std::uint64_t taken_then = sampler->counters().taken;
  see_others();
  // The child's processor may have been taking a sample at that moment.
  const std::uint64_t taken_last = sampler->counters().taken;
  REQUIRE(taken_last <= taken_then + 1);
  see_others();
  REQUIRE(stop_and_balance(*sampler, taken).taken == taken_last);
}

namespace {

void map_code_when_told(ChildSide& parent) {
  parent.wait_until_told();
  parent.take();
  int file = open("/proc/self/exe", O_RDONLY);
  void* base = mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
  parent.say(reinterpret_cast<std::uint64_t>(base));
  parent.burn_until_told();
}

}  // namespace

TEST_CASE("sampler: a wait for samples ends as soon as there is something else to do") {
  SampledChild child([](ChildSide& side) { side.wait_until_told(); });
  // The rates of the events end waits, too, but seldom with so few samples.
  auto sampler = open_sampler({.frequency_hz = 1});
  const UniqueFd request(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  REQUIRE(request.valid());
  REQUIRE(sampler->wake_on(request.get()));
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    eventfd_write(request.get(), 1);
  });
  for (eventfd_t there = 0; eventfd_read(request.get(), &there) != 0;)
    REQUIRE(sampler->drain(taken, std::chrono::hours(1)));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  child.tell();
}

TEST_CASE("sampler: an executable mapping made later is reported, with its file") {
  SampledChild child(map_code_when_told);
  auto sampler = started(child, {});
  child.tell();
  Address start = child.hear();
  Taken taken;
  drain_until(*sampler, taken, [&] { return !taken.mappings.empty(); });
  REQUIRE(taken.mappings[0].pid == child.pid());
  REQUIRE(taken.mappings[0].start == start);
  REQUIRE(taken.mappings[0].length == 8192);
  char self[4096] = {};
  REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
  REQUIRE(taken.mappings[0].path == self);
}
