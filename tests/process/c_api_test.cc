// Tests the C API on live processes and on a core, compared with what the target says and with the
// C++ API.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "labelscope/label_blocks.h"
#include "process/c_api_objects.h"
#include "support/paths.h"
#include "support/rivals.h"

namespace labelscope::test {
namespace {

std::string all_lines(const ls_explanation* explanation) {
  std::string text;
  for (std::size_t i = 0; i < ls_explanation_line_count(explanation); ++i) {
    text += text_of(ls_explanation_line(explanation, i)) + '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("c_api: every thread's labels are the target's own, with their publishers") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  CHECK(ls_target_pid(target.get()) == raw(process.pid()));
  for (const TruthThread& thread : process.threads()) {
    const OwnedObservation seen = read_thread(target.get(), plan.get(), thread.tid);
    CHECK(ls_observed_outcome(seen.get()) == LS_LABELLED);
    CHECK(ls_observed_flags(seen.get()) == LS_KEY_CONFLICT);
    CHECK(ls_observed_thread_pointer(seen.get()) == thread.thread_pointer);
    CHECK(ls_observed_hold_time(seen.get()) > 0);
    CHECK(labels_of(seen.get()) == rival_labels(process, truth, thread));
  }
}

TEST_CASE("c_api: a known thread pointer is read without stopping the thread") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  const TruthThread& thread = process.threads().back();
  ls_observation* seen = nullptr;
  ls_error error;
  require_ok(ls_read_thread_at(target.get(), plan.get(), thread.thread_pointer, &seen, &error),
             error);
  const OwnedObservation owned(seen);
  CHECK(ls_observed_hold_time(seen) == 0);
  CHECK(labels_of(seen) == rival_labels(process, truth, thread));
  // A missing thread pointer is an outcome, not an error.
  require_ok(ls_read_thread_at(target.get(), plan.get(), 0, &seen, &error), error);
  const OwnedObservation nowhere(seen);
  CHECK(ls_observed_outcome(seen) == LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(ls_label_count(seen) == 0);
}

TEST_CASE("c_api: a plan lists publishers as the C++ API does, and outlives its target") {
  const TargetProcess process = start_rivals(RivalSet::kTwoCopies);
  const ProcessPlan expected = plan_rivals(process).plan;
  OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  target.reset();
  REQUIRE(ls_publisher_count(plan.get()) == expected.publishers.size());
  for (std::size_t i = 0; i < expected.publishers.size(); ++i) {
    const Publisher& publisher = expected.publishers[i];
    CHECK(text_of(ls_publisher_path(plan.get(), i)) == publisher.path);
    CHECK(ls_publisher_load_bias(plan.get(), i) == publisher.load_bias);
    CHECK(text_of(ls_publisher_access_model(plan.get(), i)) == access_model_name(publisher.model));
    REQUIRE(ls_publisher_recipe(plan.get(), i) != nullptr);
    CHECK(std::memcmp(ls_publisher_recipe(plan.get(), i), &publisher.recipe,
                      sizeof(publisher.recipe)) == 0);
  }
  CHECK(ls_plan_absence(plan.get()).size == 0);
  CHECK(ls_plan_again(plan.get()) == 0);
  // This index is beyond the end.
  const std::size_t beyond = expected.publishers.size();
  CHECK(ls_publisher_path(plan.get(), beyond).size == 0);
  CHECK(ls_publisher_load_bias(plan.get(), beyond) == 0);
  CHECK(ls_publisher_recipe(plan.get(), beyond) == nullptr);
  CHECK(ls_finding_publisher(plan.get(), SIZE_MAX) == LS_NO_PUBLISHER);
  CHECK(ls_finding_text(plan.get(), SIZE_MAX).size == 0);
}

TEST_CASE("c_api: a plan lists what is wrong with a publisher, and with a module that is none") {
  struct Case {
    std::string program;
    std::string file;  // the finding is about this one
    std::string name;
    std::size_t publisher;
  };
  const Case cases[] = {{"with-gd", "libcustomlabels-gd.so", "no-tlsdesc", 0},
                        {"wrong-version", "wrong-version", "version-unknown", LS_NO_PUBLISHER}};
  for (const Case& broken : cases) {
    INFO(broken.program);
    TargetOptions options;
    options.program = std::string(paths::kBrokenTargets) + "/" + broken.program;
    auto process = TargetProcess::spawn(options);
    if (!process) FAIL(process.error().context);
    const OwnedTarget target = open_process(process->pid());
    const OwnedPlan plan = make_plan(target.get());
    REQUIRE(ls_finding_count(plan.get()) == 1);
    CHECK(text_of(ls_finding_path(plan.get(), 0)).ends_with("/" + broken.file));
    CHECK(text_of(ls_finding_name(plan.get(), 0)) == broken.name);
    CHECK_FALSE(text_of(ls_finding_text(plan.get(), 0)).empty());
    CHECK_FALSE(text_of(ls_finding_fix(plan.get(), 0)).empty());
    CHECK(ls_finding_publisher(plan.get(), 0) == broken.publisher);
    CHECK(ls_publisher_count(plan.get()) == (broken.publisher == LS_NO_PUBLISHER ? 0 : 1));
    CHECK(ls_finding_path(plan.get(), 1).size == 0);
  }
}

TEST_CASE("c_api: after an exec the older plan is refused, and a new one goes on") {
  int go[2];
  REQUIRE(::pipe(go) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    [[maybe_unused]] auto got = ::read(go[0], &byte, 1);
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  const OwnedTarget target = open_process(Pid{child});
  const OwnedPlan first = make_plan(target.get());
  read_thread(target.get(), first.get(), Tid{child});
  REQUIRE(::write(go[1], "x", 1) == 1);
  auto process = LiveProcess::open(Pid{child});
  REQUIRE(process);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while ((*process)->comm() != "sleep" && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto refuses_first = [&] {
    ls_observation* seen = nullptr;
    ls_error error;
    CHECK(ls_read_thread(target.get(), first.get(), child, &seen, &error) == LS_ERROR_VANISHED);
    INFO(error.text);
    CHECK(mentions(error.text, "plan again"));
  };
  refuses_first();
  const OwnedPlan second = make_plan(target.get());
  read_thread(target.get(), second.get(), Tid{child});
  refuses_first();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int fd : go) ::close(fd);
}

TEST_CASE("c_api: a process goes on to be read when its first thread has ended") {
  int channel[2];
  int go[2];
  REQUIRE(::pipe(channel) == 0);
  REQUIRE(::pipe(go) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::thread([&] {
      const auto tid = static_cast<std::int32_t>(::syscall(SYS_gettid));
      if (::write(channel[1], &tid, sizeof tid) != sizeof tid) ::_exit(1);
      for (;;) ::pause();
    }).detach();
    char byte = 0;
    [[maybe_unused]] auto got = ::read(go[0], &byte, 1);
    ::syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
  }
  std::int32_t tid = 0;
  REQUIRE(::read(channel[0], &tid, sizeof tid) == sizeof tid);
  const OwnedTarget target = open_process(Pid{child});
  const OwnedPlan plan = make_plan(target.get());
  REQUIRE(::write(go[1], "x", 1) == 1);
  siginfo_t none{};
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (bool ended = false; !ended && std::chrono::steady_clock::now() < deadline;) {
    std::ifstream file(stat);
    std::string line;
    std::getline(file, line);
    ended = mentions(line, ") Z ");
  }
  CHECK(::waitid(P_PID, static_cast<id_t>(child), &none, WEXITED | WNOHANG) == 0);
  CHECK(none.si_pid == 0);  // the process runs on
  read_thread(target.get(), plan.get(), Tid{tid});
  read_thread(target.get(), make_plan(target.get()).get(), Tid{tid});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int fd : {channel[0], channel[1], go[0], go[1]}) ::close(fd);
}

TEST_CASE("c_api: threads are listed with their names") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  ls_thread_list* list = nullptr;
  ls_error error;
  require_ok(ls_list_threads(target.get(), &list, &error), error);
  const OwnedThreads threads(list);
  REQUIRE(ls_thread_count(list) == process.threads().size());
  for (const TruthThread& thread : process.threads()) {
    bool found = false;
    for (std::size_t i = 0; i < ls_thread_count(list); ++i) {
      if (ls_thread_id(list, i) != raw(thread.tid)) continue;
      found = true;
      CHECK(text_of(ls_thread_name(list, i)) == "rivals");
    }
    CHECK(found);
  }
  CHECK(ls_thread_id(list, SIZE_MAX) == 0);
  CHECK(ls_thread_name(list, SIZE_MAX).size == 0);
}

TEST_CASE("c_api: explanations name the publishers, and a thread's its labels") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  ls_explanation* explanation = nullptr;
  ls_error error;
  require_ok(ls_explain_plan(target.get(), &explanation, &error), error);
  const OwnedExplanation planned(explanation);
  for (std::size_t i = 0; i < ls_publisher_count(plan.get()); ++i) {
    CHECK(mentions(all_lines(explanation), text_of(ls_publisher_path(plan.get(), i))));
  }
  const TruthThread& thread = process.threads().front();
  require_ok(ls_explain_thread(target.get(), plan.get(), raw(thread.tid), &explanation, &error),
             error);
  const OwnedExplanation explained(explanation);
  for (const TruthVariable& variable : thread.variables) {
    for (const Label& label : variable.labels) {
      CHECK(mentions(all_lines(explanation), label.value));
    }
  }
}

TEST_CASE("c_api: a process without publishers has a reason for it") {
  const OwnedTarget target = open_process(Pid{::getpid()});
  const OwnedPlan plan = make_plan(target.get());
  CHECK(ls_publisher_count(plan.get()) == 0);
  CHECK(mentions(text_of(ls_plan_absence(plan.get())), "loaded files"));
}

TEST_CASE("c_api: a core of a process has the same labels") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  const TempFolder folder;
  const std::string path = dump_core(process.pid(), folder.path());
  if (path.empty()) skip_test("gcore is not installed, or may not dump this process");
  const OwnedTarget target = open_core(path, "/");
  ls_target* opened = target.get();
  ls_error error;
  CHECK(ls_target_pid(opened) == raw(process.pid()));
  const OwnedPlan plan = make_plan(opened);
  ls_thread_list* list = nullptr;
  require_ok(ls_list_threads(opened, &list, &error), error);
  const OwnedThreads threads(list);
  CHECK(ls_thread_count(list) == process.threads().size());
  for (const TruthThread& thread : process.threads()) {
    const OwnedObservation seen = read_thread(opened, plan.get(), thread.tid);
    CHECK(labels_of(seen.get()) == rival_labels(process, truth, thread));
    CHECK(ls_observed_hold_time(seen.get()) == 0);
  }
  ls_observation* seen = nullptr;
  CHECK(ls_read_thread(opened, plan.get(), 1, &seen, &error) == LS_ERROR_NOT_FOUND);
}

TEST_CASE("c_api: a core without its files is not called unlabelled") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const TempFolder folder;
  const std::string path = dump_core(process.pid(), folder.path());
  if (path.empty()) skip_test("gcore is not installed, or may not dump this process");
  const OwnedTarget target = open_core(path, "/nonexistent");
  const OwnedPlan plan = make_plan(target.get());
  CHECK(ls_publisher_count(plan.get()) == 0);
  for (const TruthThread& thread : process.threads()) {
    const OwnedObservation seen = read_thread(target.get(), plan.get(), thread.tid);
    CHECK(ls_observed_outcome(seen.get()) == LS_UNREADABLE_NO_RECIPE);
  }
}

TEST_CASE("c_api: label blocks of a BPF program become labels, raw ones too") {
  struct {
    ls_label_head head{0, LS_LABELLED, 2, 24 + 72, 0};
    ls_label_block words{0, LS_SOURCE_CUSTOM_LABELS, 1, 2};
    ls_label_ref ref{0, 1, 1, 1};
    char bytes[8] = {'k', 'v', 0, 0, 0, 0, 0, 0};
    ls_label_block raw{1, LS_SOURCE_THREAD_CONTEXT, 0, 64};
    // The checksum of these IDs is 1 * the multiplier.
    std::uint64_t context[8] = {1, 0, 0x9E3779B97F4A7C15U, 5, 0, 0, 0, 0};
  } made;
  ls_observation* seen = nullptr;
  ls_error error{};
  require_ok(ls_decode_labels(&made, sizeof made, &seen, &error), error);
  const Owned<ls_observation, ls_free_observation> held(seen);
  CHECK(ls_observed_outcome(seen) == LS_LABELLED);
  REQUIRE(ls_label_count(seen) == 4);
  CHECK(text_of(ls_label_key(seen, 0)) == "k");
  CHECK(text_of(ls_label_key(seen, 1)) == "span_id");
  CHECK(text_of(ls_label_value(seen, 1)) == "0000000000000001");
  CHECK(text_of(ls_label_key(seen, 3)) == "tag0");
  CHECK(text_of(ls_label_value(seen, 3)) == "5");
  CHECK(ls_label_publisher(seen, 3) == 1);

  ls_observation* none = nullptr;
  made.raw.byte_count = 4096;
  CHECK(ls_decode_labels(&made, sizeof made, &none, &error) == LS_ERROR_MALFORMED);
  made.raw.byte_count = 64;
  made.raw.source = LS_SOURCE_COUNT;
  CHECK(ls_decode_labels(&made, sizeof made, &none, &error) == LS_ERROR_MALFORMED);
  CHECK(ls_decode_labels(&made, 8, &none, &error) == LS_ERROR_MALFORMED);
  CHECK(ls_decode_labels(nullptr, 8, &none, &error) == LS_ERROR_ARGUMENT);
  CHECK(none == nullptr);
}

TEST_CASE("c_api: an attribute whose key the plan does not name is left out, and that is shown") {
  struct {
    ls_label_head head{0, LS_LABELLED, 1, 8 + 32, 0};
    ls_label_block raw{0, LS_SOURCE_OTEL_CONTEXT, 0, 31};
    // These are OpenTelemetry's record of a span, and its attribute number 5 with the value "v".
    unsigned char record[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,  16,
                                1, 2, 3, 4, 5, 6, 7, 8, 1, 0,  3,  0,  5,  1,  'v', 0};
  } made;
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  ls_observation* seen = nullptr;
  ls_error error{};
  require_ok(ls_decode_labels_of(plan.get(), &made, sizeof made, &seen, &error), error);
  const OwnedObservation held(seen);
  CHECK(ls_observed_outcome(seen) == LS_LABELLED);
  CHECK(ls_observed_flags(seen) == LS_UNKNOWN_KEY);
  REQUIRE(ls_label_count(seen) == 2);
  CHECK(text_of(ls_label_key(seen, 0)) == "trace_id");
  CHECK(text_of(ls_label_value(seen, 0)) == "0102030405060708090a0b0c0d0e0f10");
  CHECK(text_of(ls_label_key(seen, 1)) == "span_id");
  CHECK(text_of(ls_label_value(seen, 1)) == "0102030405060708");
}

TEST_CASE("c_api: several threads may read one target at the same time") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  const TruthThread& thread = process.threads().front();
  const LabelSet expected = rival_labels(process, truth, thread);
  constexpr int kReads = 100;
  std::atomic<int> wrong{0};
  constexpr int kReaders = 4;
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      for (int n = 0; n < kReads; ++n) {
        ls_observation* seen = nullptr;
        if (ls_read_thread_at(target.get(), plan.get(), thread.thread_pointer, &seen, nullptr) !=
                LS_OK ||
            ls_label_count(seen) != expected.size()) {
          ++wrong;
        }
        ls_plan_state state = LS_PLAN_OTHER_PROGRAM;
        if (ls_check_plan(target.get(), plan.get(), &state, nullptr) != LS_OK ||
            state != LS_PLAN_GOOD) {
          ++wrong;
        }
        ls_free_observation(seen);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
}

}  // namespace labelscope::test
