// Tests how the C API notices that a plan is not good any more: the target has loaded a library,
// executed a program, published something else about itself, or ended.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "c_api/objects.h"
#include "process/c_api_objects.h"
#include "support/paths.h"
#include "support/rivals.h"

namespace labelscope::test {
namespace {

ls_plan_state state_of(const OwnedTarget& target, const OwnedPlan& plan) {
  ls_plan_state state = LS_PLAN_GOOD;
  ls_error error;
  require_ok(ls_check_plan(target.get(), plan.get(), &state, &error), error);
  return state;
}

// Returns the state that follows LS_PLAN_GOOD.
ls_plan_state wait_for_change(const OwnedTarget& target, const OwnedPlan& plan) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    const ls_plan_state state = state_of(target, plan);
    if (state != LS_PLAN_GOOD || std::chrono::steady_clock::now() > deadline) return state;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A child that waits for a byte, does `act`, and waits for its end.
class Child {
 public:
  template <class Act>
  explicit Child(Act act) {
    REQUIRE(::pipe(go_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    char byte = 0;
    [[maybe_unused]] auto got = ::read(go_[0], &byte, 1);
    act();
    for (;;) ::pause();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    end();
    for (int fd : go_) ::close(fd);
  }
  void go() const { REQUIRE(::write(go_[1], "x", 1) == 1); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  int go_[2]{};
  pid_t pid_ = 0;
};

// OTEP 4719: this publishes a process context with one attribute, a=b.
void publish_context() {
  static const unsigned char payload[] = {0x0a, 0x0a, 0x0a, 0x08, 0x0a, 0x01,
                                          'a',  0x12, 0x03, 0x0a, 0x01, 'b'};
  struct Header {
    char signature[8];
    std::uint32_t version;
    std::uint32_t size;
    std::uint64_t published_ns;
    const unsigned char* payload;
  };
  const int fd = ::memfd_create("OTEL_CTX", 0);
  if (fd < 0 || ::ftruncate(fd, 4096) != 0) ::_exit(1);
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (page == MAP_FAILED) ::_exit(1);
  Header header{{}, 2, sizeof payload, 1, payload};
  std::memcpy(header.signature, "OTEL_CTX", sizeof header.signature);
  std::memcpy(page, &header, sizeof header);
}

}  // namespace

TEST_CASE("c_api_change: a plan stays good while its target does nothing") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  constexpr int kChecks = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kChecks; ++i) CHECK(state_of(target, plan) == LS_PLAN_GOOD);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  WARN("a check takes " << took.count() / kChecks << " us");
}

TEST_CASE("c_api_change: a library that is loaded later is noticed, and the next plan has it") {
  TargetProcess process = start_target(paths::kLateLoader, {paths::kCustomLabelsLibrary});
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan first = make_plan(target.get());
  CHECK(ls_publisher_count(first.get()) == 0);
  CHECK(state_of(target, first) == LS_PLAN_GOOD);
  REQUIRE(process.send("load"));
  CHECK(wait_for_change(target, first) == LS_PLAN_NEW_CODE);
  // The library is there, and the label follows.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  LabelSet labels;
  while (labels.empty() && std::chrono::steady_clock::now() < deadline) {
    const OwnedPlan plan = make_plan(target.get());
    labels = labels_of(read_thread(target.get(), plan.get(), Tid{raw(process.pid())}).get());
  }
  CHECK(labels == LabelSet{{"phase", "late", 0}});
  CHECK(state_of(target, first) == LS_PLAN_NEW_CODE);
  CHECK(state_of(target, make_plan(target.get())) == LS_PLAN_GOOD);
}

TEST_CASE("c_api_change: after an exec, all threads are read by a new plan of the same target") {
  Child child([] { ::execl("/bin/sleep", "sleep", "1000", nullptr); });
  const OwnedTarget target = open_process(child.pid());
  const OwnedPlan first = make_plan(target.get());
  CHECK(state_of(target, first) == LS_PLAN_GOOD);
  child.go();
  CHECK(wait_for_change(target, first) == LS_PLAN_OTHER_PROGRAM);
  ls_snapshot* snapshot = nullptr;
  ls_error error;
  CHECK(ls_read_threads(target.get(), first.get(), nullptr, &snapshot, &error) ==
        LS_ERROR_VANISHED);
  CHECK(mentions(error.text, "plan again"));
  // A plan of the middle of the exec is refused as well, and the loader maps libraries after it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  OwnedPlan second;
  for (bool good = false; !good && std::chrono::steady_clock::now() < deadline;) {
    ls_plan* made = nullptr;
    const ls_error_code code = ls_make_plan(target.get(), &made, &error);
    REQUIRE((code == LS_OK || code == LS_ERROR_VANISHED));
    second.reset(made);
    good = made != nullptr && state_of(target, second) == LS_PLAN_GOOD;
  }
  require_ok(ls_read_threads(target.get(), second.get(), nullptr, &snapshot, &error), error);
  const OwnedSnapshot held(snapshot);
  CHECK(ls_snapshot_thread_count(snapshot) == 1);
  CHECK(text_of(ls_snapshot_thread_name(snapshot, 0)) == "sleep");
  CHECK(state_of(target, first) == LS_PLAN_OTHER_PROGRAM);
}

TEST_CASE("c_api_change: what a process begins to publish about itself is noticed") {
  Child child(publish_context);
  const OwnedTarget target = open_process(child.pid());
  const OwnedPlan first = make_plan(target.get());
  CHECK(ls_attribute_count(first.get()) == 0);
  CHECK(ls_context_time(first.get()) == 0);
  CHECK(state_of(target, first) == LS_PLAN_GOOD);
  child.go();
  CHECK(wait_for_change(target, first) == LS_PLAN_NEW_FACTS);
  const OwnedPlan second = make_plan(target.get());
  REQUIRE(ls_attribute_count(second.get()) == 1);
  CHECK(text_of(ls_attribute_key(second.get(), 0)) == "a");
  CHECK(text_of(ls_attribute_value(second.get(), 0)) == "b");
  CHECK(ls_context_time(second.get()) == 1);
  CHECK(state_of(target, second) == LS_PLAN_GOOD);
}

TEST_CASE("c_api_change: what a process publishes anew is noticed, and keys have their names") {
  TargetProcess process = start_target(paths::kOtelContexts, {}, true);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan first = make_plan(target.get());
  CHECK(ls_context_key_count(first.get()) == 9);
  CHECK(state_of(target, first) == LS_PLAN_GOOD);
  REQUIRE(process.send("grow"));
  CHECK(wait_for_change(target, first) == LS_PLAN_NEW_FACTS);
  // It may be in the middle of publishing.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  OwnedPlan second = make_plan(target.get());
  while (ls_context_key_count(second.get()) != 10 && std::chrono::steady_clock::now() < deadline) {
    second = make_plan(target.get());
  }
  CHECK(text_of(ls_context_key(second.get(), 9)) == "late.key");
  CHECK(state_of(target, second) == LS_PLAN_GOOD);
}

TEST_CASE("c_api_change: a slot that was empty is a reason to plan again") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  // The loader has filled all of them before anybody can look.
  plan->plan.plan_again = true;
  CHECK(ls_plan_again(plan.get()) == 1);
  CHECK(state_of(target, plan) == LS_PLAN_UNFILLED);
}

TEST_CASE("c_api_change: a process that has ended is an error, and so is a plan of another one") {
  Child child([] {});
  const OwnedTarget target = open_process(child.pid());
  const OwnedPlan plan = make_plan(target.get());
  const TargetProcess other = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget another = open_process(other.pid());
  CHECK(state_of(another, plan) == LS_PLAN_OTHER_PROGRAM);
  child.end();
  ls_plan_state state = LS_PLAN_GOOD;
  ls_snapshot* snapshot = nullptr;
  ls_error error;
  CHECK(ls_check_plan(target.get(), plan.get(), &state, &error) == LS_ERROR_VANISHED);
  CHECK(state == LS_PLAN_OTHER_PROGRAM);
  CHECK(ls_read_threads(target.get(), plan.get(), nullptr, &snapshot, &error) == LS_ERROR_VANISHED);
  ls_plan* again = nullptr;
  CHECK(ls_make_plan(target.get(), &again, &error) == LS_ERROR_VANISHED);
  CHECK(again == nullptr);
}

TEST_CASE("c_api_change: a core file does not change, and plans of others are refused") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const TargetProcess other_process = start_rivals(RivalSet::kTwoCopies);
  const TempFolder folder;
  const std::string path = dump_core(process.pid(), folder.path());
  const std::string other_path = dump_core(other_process.pid(), folder.path());
  if (path.empty() || other_path.empty()) skip_test("gcore is not installed, or may not dump");
  const OwnedTarget target = open_core(path, "/");
  const OwnedTarget again = open_core(path, "/");
  const OwnedTarget other = open_core(other_path, "/");
  const OwnedTarget live = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  const OwnedPlan live_plan = make_plan(live.get());
  CHECK(state_of(target, plan) == LS_PLAN_GOOD);
  CHECK(state_of(again, plan) == LS_PLAN_GOOD);
  CHECK(state_of(live, plan) == LS_PLAN_OTHER_PROGRAM);
  for (const auto& [core, of_other] :
       {std::pair(other.get(), plan.get()), std::pair(target.get(), live_plan.get())}) {
    ls_plan_state state = LS_PLAN_GOOD;
    ls_observation* seen = nullptr;
    ls_snapshot* snapshot = nullptr;
    ls_error error;
    CHECK(ls_check_plan(core, of_other, &state, &error) == LS_ERROR_NOT_FOUND);
    const int tid = ls_target_pid(core);
    CHECK(ls_read_thread(core, of_other, tid, &seen, &error) == LS_ERROR_NOT_FOUND);
    CHECK(ls_read_threads(core, of_other, nullptr, &snapshot, &error) == LS_ERROR_NOT_FOUND);
    CHECK(mentions(error.text, "core file"));
  }
}

}  // namespace labelscope::test
