// Tests why a thread may not be stopped: each reason has its own sentence, and the fix that fits
// it.
#include "ptrace/ptrace_refusal.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>

#include "labelscope/stopped_thread.h"
#include "process/proc_fs.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

PtraceRefusal refused() {
  PtraceRefusal refusal;
  refusal.what = "thread 17";
  refusal.errno_value = EPERM;
  refusal.own_uid = 1000;
  refusal.uid = 1000;
  return refusal;
}

void expect(const PtraceRefusal& refusal, const std::string& reason, const std::string& fix) {
  const Error error = explain_refusal(refusal);
  CHECK(error.code == ErrorCode::kPermission);
  INFO(error.context);
  CHECK(error.context.find("thread 17") != std::string::npos);
  CHECK(error.context.find(reason) != std::string::npos);
  CHECK(error.context.find(fix) != std::string::npos);
}

// Forks a child that calls `change` and then tries to stop its parent. Returns the child's message.
std::string refusal_of_parent_after(const std::function<void()>& change) {
  std::array<int, 2> channel{};
  REQUIRE(::pipe(channel.data()) == 0);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    change();
    auto stopped = StoppedThread::stop(Tid{parent});
    const std::string text = stopped ? "stopped" : stopped.error().context;
    [[maybe_unused]] auto written = ::write(channel[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(channel[1]);
  std::string said;
  std::array<char, 1024> buffer{};
  for (ssize_t got = 0; (got = ::read(channel[0], buffer.data(), buffer.size())) > 0;) {
    said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(channel[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

}  // namespace

TEST_CASE("ptrace_refusal: each reason has its sentence and its fix") {
  PtraceRefusal refusal = refused();
  SECTION("ended") {
    refusal.ended = true;
    CHECK(explain_refusal(refusal).code == ErrorCode::kVanished);
  }
  SECTION("another tracer") {
    refusal.tracer = 812;
    refusal.tracer_name = "gdb";
    expect(refusal, "traced by gdb (812)", "detach");
  }
  SECTION("a tracer of labelscope itself") {
    refusal.traces_us = true;
    refusal.tracer = 812;  // the other way round is the smaller matter
    expect(refusal, "it traces labelscope", "leave it out");
  }
  SECTION("a tracer outside of the container") {
    refusal.tracer = -1;
    expect(refusal, "outside of this container", "one tracer");
  }
  SECTION("another user") {
    refusal.other_uid = 0;
    refusal.uid = 0;
    refusal.yama = 1;  // has no effect here
    expect(refusal, "belongs to root and labelscope runs as user 1000", "sudo");
  }
  SECTION("not dumpable") {
    refusal.not_dumpable = true;
    expect(refusal, "PR_SET_DUMPABLE 0", "CAP_SYS_PTRACE");
  }
  SECTION("a set-user-ID program of our own user") {
    refusal.other_uid = 0;
    expect(refusal, "has the rights of root (set-user-ID) and labelscope runs as user 1000",
           "sudo");
  }
  SECTION("another group") {
    refusal.gid = 12;
    refusal.own_gid = 34;
    refusal.other_gid = 12;
    expect(refusal, "belongs to group 12 and labelscope runs as group 34", "sudo");
  }
  SECTION("a set-group-ID program of our own group") {
    refusal.gid = 34;
    refusal.own_gid = 34;
    refusal.other_gid = 12;
    expect(refusal, "has the rights of group 12 (set-group-ID)", "sudo");
  }
  SECTION("capabilities that we do not have") {
    refusal.more_capable = true;
    expect(refusal, "capabilities that labelscope does not have", "sudo");
  }
  SECTION("yama 1") {
    refusal.yama = 1;
    expect(refusal, "ptrace_scope is 1", "sysctl kernel.yama.ptrace_scope=0");
  }
  SECTION("yama 2") {
    refusal.yama = 2;
    expect(refusal, "ptrace_scope is 2", "sudo");
  }
  SECTION("root without the capability is not advised to use sudo") {
    refusal.own_uid = 0;
    refusal.yama = 2;
    expect(refusal, "ptrace_scope is 2", "give the container --cap-add");
    CHECK(explain_refusal(refusal).context.find("sudo") == std::string::npos);
  }
  SECTION("yama 3, and no capability helps") {
    refusal.yama = 3;
    refusal.may_trace_others = GENERATE(false, true);
    refusal.own_uid = GENERATE(0U, 1000U);
    expect(refusal, "ptrace_scope is 3", "set another value at boot");
    CHECK(explain_refusal(refusal).context.find("sudo") == std::string::npos);
    CHECK(explain_refusal(refusal).context.find("CAP_SYS_PTRACE") == std::string::npos);
  }
  SECTION("yama 1 is no reason for who has the capability") {
    refusal.yama = 1;
    refusal.may_trace_others = true;
    expect(refusal, "another rule of the system", "kernel's log");
  }
  SECTION("a seccomp filter") {
    refusal.filtered = true;
    refusal.may_trace_others = true;
    expect(refusal, "seccomp", "--cap-add SYS_PTRACE");
  }
  SECTION("no ptrace at all") {
    refusal.errno_value = ENOSYS;
    refusal.filtered = true;
    expect(refusal, "no ptrace()", "outside of it");
  }
  SECTION("another user namespace") {
    refusal.may_trace_others = true;
    refusal.other_user_namespace = true;
    expect(refusal, "another user namespace", "root of the host");
  }
  SECTION("the kernel") {
    refusal.kernel_thread = true;
    refusal.may_trace_others = true;
    expect(refusal, "kernel thread", "");
  }
}

TEST_CASE("ptrace_refusal: a process of another user says whose it is") {
  skip_in_user_mode_emulation();
  if (::geteuid() != 0) skip_test("becoming another user needs root");
  const std::string said = refusal_of_parent_after([] {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 ||
        ::setresuid(65534, 65534, 65534) != 0) {
      ::_exit(1);
    }
  });
  INFO(said);
  CHECK(said.find("belongs to root and labelscope runs as user 65534") != std::string::npos);
}

TEST_CASE("ptrace_refusal: the tracer of this process is not stopped") {
  skip_in_user_mode_emulation();
  SECTION("one that traces it itself") {
    const std::string said = refusal_of_parent_after([] {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    });
    INFO(said);
    CHECK(said.find("it traces labelscope") != std::string::npos);
  }
  SECTION("one that traces the tracer") {
    // The child in between traces its own child, and is traced by this process.
    std::array<int, 2> channel{};
    REQUIRE(::pipe(channel.data()) == 0);
    const pid_t self = ::getpid();
    const pid_t between = ::fork();
    REQUIRE(between >= 0);
    if (between == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
      const pid_t child = ::fork();
      if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
        auto stopped = StoppedThread::stop(Tid{self});
        const std::string text = stopped ? "stopped" : stopped.error().context;
        [[maybe_unused]] auto written = ::write(channel[1], text.data(), text.size());
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
      ::_exit(0);
    }
    ::close(channel[1]);
    std::string said(1024, '\0');
    const ssize_t got = ::read(channel[0], said.data(), said.size());
    ::close(channel[0]);
    // SIGCHLD of its child stops it for its tracer.
    for (int status = 0; ::waitpid(between, &status, 0) == between && WIFSTOPPED(status);) {
      ::ptrace(PTRACE_CONT, between, nullptr, nullptr);
    }
    REQUIRE(got > 0);
    said.resize(static_cast<std::size_t>(got));
    INFO(said);
    CHECK(said.find("it traces labelscope") != std::string::npos);
  }
}

namespace {

// Returns the message of one unprivileged process about another. A child of this process calls
// `become`; a child of that child calls `change`, and then tries to stop its parent.
std::string refusal_of(const std::function<bool()>& become, const std::function<void()>& change) {
  std::array<int, 2> channel{};
  REQUIRE(::pipe(channel.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 || !become()) {
      ::_exit(1);
    }
    const std::string said = refusal_of_parent_after(change);
    [[maybe_unused]] auto written = ::write(channel[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(channel[1]);
  std::string said(1024, '\0');
  const ssize_t got = ::read(channel[0], said.data(), said.size());
  ::close(channel[0]);
  ::waitpid(child, nullptr, 0);
  REQUIRE(got > 0);
  said.resize(static_cast<std::size_t>(got));
  return said;
}

}  // namespace

TEST_CASE("ptrace_refusal: a process of the same user that may not be dumped says so") {
  skip_in_user_mode_emulation();
  if (::geteuid() != 0) skip_test("becoming another user needs root");
  const std::string said = refusal_of(
      [] { return ::setresuid(65534, 65534, 65534) == 0 && ::prctl(PR_SET_DUMPABLE, 0) == 0; },
      [] { ::prctl(PR_SET_DUMPABLE, 1); });
  INFO(said);
  CHECK(said.find("PR_SET_DUMPABLE 0") != std::string::npos);
}

TEST_CASE("ptrace_refusal: a set-user-ID program says whose rights it has") {
  skip_in_user_mode_emulation();
  if (::geteuid() != 0) skip_test("becoming another user needs root");
  const std::string said = refusal_of([] { return ::setresuid(65534, 65534, 0) == 0; },
                                      [] {
                                        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
                                      });
  INFO(said);
  CHECK(said.find("has the rights of root (set-user-ID) and labelscope runs as user 65534") !=
        std::string::npos);
}

TEST_CASE("ptrace_refusal: a kernel thread is distinguished from a process") {
  // This is kthreadd where this pid namespace is the first one.
  auto stat = read_thread_stat("/proc/2/stat");
  if (!stat || stat->name != "kthreadd") skip_test("no kernel threads in this pid namespace");
  const auto stopped = StoppedThread::stop(Tid{2});
  REQUIRE_FALSE(stopped);
  INFO(stopped.error().context);
  CHECK(stopped.error().context.find("kernel thread") != std::string::npos);
}

TEST_CASE("ptrace_refusal: the tracer is named") {
  skip_in_user_mode_emulation();
  std::array<int, 2> channel{};
  REQUIRE(::pipe(channel.data()) == 0);
  const pid_t target = ::fork();
  REQUIRE(target >= 0);
  if (target == 0) {
    for (;;) ::pause();
  }
  const pid_t tracer = ::fork();
  REQUIRE(tracer >= 0);
  if (tracer == 0) {
    ::prctl(PR_SET_NAME, "a debugger");
    const char done = ::ptrace(PTRACE_SEIZE, target, nullptr, nullptr) == 0 ? 'y' : 'n';
    [[maybe_unused]] auto written = ::write(channel[1], &done, 1);
    for (;;) ::pause();
  }
  char done = 0;
  REQUIRE(::read(channel[0], &done, 1) == 1);
  std::string said = "not tried";
  if (done == 'y') {
    auto stopped = StoppedThread::stop(Tid{target});
    said = stopped ? "stopped" : stopped.error().context;
  }
  for (pid_t pid : {tracer, target}) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  for (int fd : channel) ::close(fd);
  REQUIRE(done == 'y');
  INFO(said);
  CHECK(said.find("traced by a debugger (" + std::to_string(tracer) + ")") != std::string::npos);
}

TEST_CASE("ptrace_refusal: what was refused stays refused when the thread has ended") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const Error told =
      StoppedThread::refusal(Tid{child}, {ErrorCode::kPermission, "its mappings: not permitted"});
  CHECK(told.code == ErrorCode::kPermission);
  CHECK(told.context == "its mappings: not permitted");
}

TEST_CASE("proc_fs: the state behind a name that looks like one") {
  auto stat = parse_thread_stat("17 (a) Z (b) S 1 17 17 0 -1 2097216 0 0 0");
  REQUIRE(stat);
  CHECK(stat->name == "a) Z (b");
  CHECK(stat->state == 'S');
  CHECK(stat->flags == 2097216);
}

TEST_CASE("proc_fs: what is no line of stat is none") {
  for (const char* text : {"", "17", "17 (", "17 (x", "17 (x)", "17 (x) ", ") (", ") S ("}) {
    INFO(text);
    CHECK_FALSE(parse_thread_stat(text));
  }
}

}  // namespace labelscope::test
