// Tests what tests of every tier rely on: a target's lines are received, a refusal comes with its
// own reason, and no target is left behind.
#include "support/target_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "support/catch.h"

namespace labelscope::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TargetOptions shell(const std::string& script) {
  TargetOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", script};
  return options;
}

bool exists(Pid pid) { return ::kill(raw(pid), 0) == 0 || errno != ESRCH; }

}  // namespace

TEST_CASE("target_process: a thread's line becomes its tid, thread pointer, addresses and labels") {
  const auto target = TargetProcess::spawn(
      shell("echo '{\"tid\":7,\"tp\":18446744073709551608,\"kind\":\"worker\",\"variables\":["
            "{\"module\":\"a.so\",\"address\":4096,\"labels\":[{\"key\":\"6b00\",\"value\":\"\"}]},"
            "{\"module\":\"b.so\",\"address\":null,\"labels\":[]}]}'\n"
            "echo '{\"other\":1}'; echo ready; cat"));
  REQUIRE(target);
  REQUIRE(target->lines().size() == 2);
  REQUIRE(target->threads().size() == 1);
  const TruthThread& thread = target->threads().front();
  CHECK(raw(thread.tid) == 7);
  CHECK(thread.thread_pointer == UINT64_MAX - 7);
  CHECK(thread.kind == "worker");
  REQUIRE(thread.variables.size() == 2);
  CHECK(thread.variables[0].module == "a.so");
  CHECK(thread.variables[0].address == Address{4096});
  REQUIRE(thread.variables[0].labels.size() == 1);
  CHECK(thread.variables[0].labels[0].key == std::string("k\0", 2));
  CHECK(thread.variables[0].labels[0].value.empty());
  CHECK_FALSE(thread.variables[1].address);
}

TEST_CASE("target_process: a line that is no truth is an error that shows the line") {
  const std::string odd_key =
      R"({"tid":1,"tp":1,"variables":[{"module":"m","address":1,"labels":[{"key":"6","value":""}]}]})";
  const std::string text_tid = R"({"tid":"x","tp":1,"variables":[]})";
  for (const std::string& line :
       {std::string("hello"), std::string("[1]"), std::string(R"({"tid":1})"), text_tid, odd_key}) {
    INFO(line);
    const auto target = TargetProcess::spawn(shell("echo '" + line + "'; echo ready; cat"));
    REQUIRE_FALSE(target);
    CHECK(target.error().code == ErrorCode::kMalformed);
    CHECK(target.error().context.find(line) != std::string::npos);
  }
}

TEST_CASE("target_process: a target that cannot go on is refused with its own reason") {
  const auto refused = TargetProcess::spawn(shell("echo '{\"cannot\":\"no musl\"}'; exit 3"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kVanished);
  CHECK(refused.error().context.find("exit status 3") != std::string::npos);
  CHECK(refused.error().context.find("no musl") != std::string::npos);

  const auto killed = TargetProcess::spawn(shell("kill -SEGV $$"));
  REQUIRE_FALSE(killed);
  CHECK(killed.error().context.find("signal 11") != std::string::npos);

  TargetOptions options;
  options.program = "/nonexistent/target";
  const auto absent = TargetProcess::spawn(options);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().context.find("may not exist") != std::string::npos);
}

TEST_CASE("target_process: a target that is not ready in time is given up") {
  TargetOptions options = shell("exec cat");
  options.ready_timeout = milliseconds(50);
  const auto target = TargetProcess::spawn(options);
  REQUIRE_FALSE(target);
  CHECK(target.error().code == ErrorCode::kLimit);
}

TEST_CASE("target_process: nothing is left behind, whether the target ends by itself or not") {
  Pid well_behaved{};
  Pid stubborn{};
  {
    auto first = TargetProcess::spawn(shell("echo ready; exec cat"));
    auto second = TargetProcess::spawn(shell("echo ready; exec sleep 1000"));
    REQUIRE(first);
    REQUIRE(second);
    well_behaved = first->pid();
    stubborn = second->pid();
    CHECK(exists(well_behaved));
    CHECK(exists(stubborn));
  }
  CHECK_FALSE(exists(well_behaved));
  CHECK_FALSE(exists(stubborn));
}

TEST_CASE("target_process: the target dies with a test that is killed") {
  int report[2];
  REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
  const pid_t test = ::fork();
  REQUIRE(test >= 0);
  if (test == 0) {
    // The target is not the shell's own child: SIGKILL runs no destructor, and this target never
    // reads stdin.
    const auto target = TargetProcess::spawn(shell("echo ready; exec sleep 1000"));
    const std::int32_t pid = target ? raw(target->pid()) : -1;
    if (::write(report[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  std::int32_t pid = -1;
  REQUIRE(::read(report[0], &pid, sizeof pid) == sizeof pid);
  REQUIRE(pid > 0);
  const UniqueFd target(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  REQUIRE(::waitpid(test, nullptr, 0) == test);
  // If there is no pidfd, the target is already gone and reaped.
  if (target.valid()) {
    pollfd end{target.get(), POLLIN, 0};
    CHECK(::poll(&end, 1, 10000) == 1);
  }
  ::close(report[0]);
  ::close(report[1]);
}

TEST_CASE("target_process: commands reach the target, and it answers ready again") {
  auto target = TargetProcess::spawn(shell(
      "echo ready; while read word; do echo \"{\\\"word\\\":\\\"$word\\\"}\"; echo ready; done"));
  REQUIRE(target);
  REQUIRE(target->send("next"));
  REQUIRE(target->wait_ready(seconds(10)));
  REQUIRE(target->lines().size() == 1);
  CHECK(target->lines()[0]["word"] == "next");
  const auto status = target->finish(seconds(10));
  REQUIRE(status);
  CHECK(*status == 0);
}

TEST_CASE("target_process: a command to a target that is gone is an error, not a signal") {
  auto target = TargetProcess::spawn(shell("echo ready; exec <&-; read nothing"));
  REQUIRE(target);
  // The shell closes its stdin, which may happen only after "ready".
  Status sent;
  for (int i = 0; i < 100000 && sent; ++i) sent = target->send("word");
  CHECK_FALSE(sent);
}

TEST_CASE("target_process: a setting takes the place of the test's own") {
  TargetOptions options = shell("echo \"{\\\"path\\\":\\\"$PATH\\\"}\"; echo ready; cat");
  options.environment = {"PATH=/usr/bin:/bin:/replaced"};
  const auto target = TargetProcess::spawn(options);
  REQUIRE(target);
  CHECK(target->lines().at(0)["path"] == "/usr/bin:/bin:/replaced");
}

}  // namespace labelscope::test
