// check of live processes, started or attached to. A writer that breaks one rule is found by that
// rule and no other. Other programs crash, fork, or ignore signals.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "cli/check/programs.h"
#include "labelscope/target.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/target_process.h"

namespace labelscope::test {
namespace {

using cli::CheckedSubject;
using cli::CheckReport;
using cli::LiveCheckOptions;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

const fs::path kWriters = paths::kLiveViolators;

// Returns the folders of writers whose names begin with `prefix`.
std::vector<fs::path> writers(const std::string& prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kWriters)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::set<std::string> broken(const CheckReport& report) {
  std::set<std::string> codes;
  for (const CheckedSubject& subject : report.subjects) {
    for (const Diagnostic& diagnostic : subject.diagnostics) {
      codes.insert(rule_of(diagnostic.rule).code);
    }
  }
  return codes;
}

// Returns what a failing test should show, in order.
std::string told(const CheckReport& report) {
  std::string text;
  for (const CheckedSubject& subject : report.subjects) {
    text += subject.name + "\n";
    for (const Diagnostic& diagnostic : subject.diagnostics) {
      text += std::string("  ") + rule_of(diagnostic.rule).code + " " + diagnostic.subject + ": " +
              diagnostic.text + " x" + std::to_string(diagnostic.count) + "\n";
    }
  }
  for (const auto& problem : report.problems) {
    text += "problem: " + problem.name + ": " + problem.error.context + "\n";
  }
  for (const std::string& remark : report.remarks) text += "remark: " + remark + "\n";
  return text + std::to_string(report.effort.samples) + " samples, " +
         std::to_string(report.effort.labelled) + " labelled";
}

const CheckedSubject* subject_of_file(const CheckReport& report, const std::string& name) {
  for (const CheckedSubject& subject : report.subjects) {
    if (fs::path(subject.name).filename() == name) return &subject;
  }
  return nullptr;
}

bool says(const std::vector<std::string>& remarks, const std::string& what) {
  return std::any_of(remarks.begin(), remarks.end(), [&](const std::string& remark) {
    return remark.find(what) != std::string::npos;
  });
}

CheckReport check_program(const std::vector<std::string>& command,
                          const LiveCheckOptions& options = {}) {
  CheckReport report;
  const Status status = cli::check_command(command, options, report);
  INFO((status ? std::string() : status.error().context));
  REQUIRE(status);
  return report;
}

CheckReport check_staying(const fs::path& program) {
  auto target = TargetProcess::spawn({program, {"stay"}, {}});
  INFO((target ? std::string() : target.error().context));
  REQUIRE(target);
  LiveCheckOptions options;
  // That takes a tenth of a second: a writer whose mistake is a change makes ten changes meanwhile.
  options.samples = 50;
  CheckReport report;
  const Status status = cli::check_process(target->pid(), options, report);
  INFO((status ? std::string() : status.error().context));
  REQUIRE(status);
  REQUIRE(target->finish(std::chrono::seconds(20)).value() == 0);  // the check did not disturb it
  return report;
}

bool runs(Pid pid) { return LiveProcess::open(pid).has_value(); }

// Returns whether this process has children, dead or alive.
bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

const std::string kUnruly = paths::kUnruly;

LiveCheckOptions soon(milliseconds timeout) {
  LiveCheckOptions options;
  options.timeout = timeout;
  return options;
}

}  // namespace

TEST_CASE("check_live: a started writer that breaks one rule is found by it and by no other") {
  REQUIRE(writers("LS").size() >= 12);
  for (const fs::path& writer : writers("LS")) {
    const std::string code = writer.filename().string().substr(0, 5);
    CheckReport report = check_program({writer / "program"});
    // The program has its labels for a moment only, which the check may miss on a busy machine.
    for (int again = 0; again < 3 && broken(report).empty(); ++again) {
      report = check_program({writer / "program"});
    }
    INFO(writer << '\n' << told(report));
    CHECK(broken(report) == std::set{code});
    CHECK(report.problems.empty());
    CHECK(report.wait_status == 0);
    CHECK_FALSE(report.ended_by_check);
  }
}

TEST_CASE("check_live: a running writer that breaks one rule is found by it and by no other") {
  for (const fs::path& writer : writers("LS")) {
    const std::string code = writer.filename().string().substr(0, 5);
    const CheckReport report = check_staying(writer / "program");
    INFO(writer << '\n' << told(report));
    CHECK(broken(report) == std::set{code});
    CHECK(report.problems.empty());
    CHECK_FALSE(report.wait_status);
  }
}

TEST_CASE("check_live: a writer of OpenTelemetry's context that keeps to it has no finding") {
  const fs::path program = kWriters / "good-otel/program";
  for (const CheckReport& report : {check_program({program}), check_staying(program)}) {
    INFO(told(report));
    CHECK(broken(report).empty());
    CHECK(report.problems.empty());
    REQUIRE(report.subjects.size() == 2);  // the program's file and the process
    CHECK(report.effort.labelled > 0);
  }
}

TEST_CASE("check_live: a library that is there from the start has no finding") {
  std::vector<fs::path> programs;
  for (const fs::path& writer : writers("good-linked")) {
    // The second program reads the library's version, too.
    programs.insert(programs.end(), {writer / "program", writer / "reader"});
  }
  REQUIRE(programs.size() >= 2);
  for (const fs::path& program : programs) {
    for (const CheckReport& report : {check_program({program}), check_staying(program)}) {
      INFO(program << '\n' << told(report));
      CHECK(broken(report).empty());
      CHECK(report.subjects.size() == 2);  // the library and the process, not the program's file
      const CheckedSubject* library = subject_of_file(report, "libcustomlabels.so");
      REQUIRE(library != nullptr);
      const auto& rules = library->rules;
      CHECK(std::find(rules.begin(), rules.end(), abi_v1::kLoadedAtStartup) != rules.end());
      CHECK(report.effort.labelled > 0);
      CHECK(report.effort.labelled <= report.effort.samples);
    }
  }
}

TEST_CASE("check_live: a preloaded library is there from the start") {
  auto target = TargetProcess::spawn(
      {paths::kPreloaded,
       {"stay"},
       {"LD_PRELOAD=" + (kWriters / "good-linked/libcustomlabels.so").string()}});
  REQUIRE(target);
  LiveCheckOptions options;
  options.samples = 3;
  CheckReport report;
  REQUIRE(cli::check_process(target->pid(), options, report));
  INFO(told(report));
  const CheckedSubject* library = subject_of_file(report, "libcustomlabels.so");
  REQUIRE(library != nullptr);
  CHECK(library->diagnostics.empty());
  CHECK(std::count(library->rules.begin(), library->rules.end(), abi_v1::kLoadedAtStartup) == 1);
}

TEST_CASE("check_live: the bundled writer on several threads is clean, in library and executable") {
  for (const char* program : {paths::kSelfCheckLibrary, paths::kSelfCheckExecutable}) {
    const CheckReport report = check_program({program, "--threads", "4", "--ms", SELF_CHECK_MS});
    INFO(program << '\n' << told(report));
    for (const CheckedSubject& subject : report.subjects) {
      for (const Diagnostic& diagnostic : subject.diagnostics) {
        CHECK(rule_of(diagnostic.rule).severity == Severity::kNote);
      }
    }
    CHECK(report.subjects.size() >= 2);
    CHECK(report.problems.empty());
    CHECK(report.effort.labelled > 0);
    CHECK(report.effort.threads >= 4);
    CHECK(report.wait_status == 0);
  }
}

TEST_CASE("check_live: a program that sets no labels is said to have none") {
  const CheckReport report = check_program({kUnruly, "silent"});
  INFO(told(report));
  CHECK(broken(report).empty());
  CHECK(report.effort.samples > 0);
  CHECK(report.effort.labelled == 0);
  // The program's file was checked, and its data rules were not.
  REQUIRE(report.subjects.size() == 1);
  CHECK(fs::path(report.subjects.front().name).filename() == "unruly");
}

TEST_CASE("check_live: a program that publishes nothing is no success") {
  CheckReport report;
  REQUIRE(cli::check_command({"sleep", "0.2"}, {}, report));
  INFO(told(report));
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems.front().name == "sleep");
  CHECK(report.problems.front().error.context.find("sets no labels") != std::string::npos);
  CHECK(report.subjects.empty());
}

TEST_CASE("check_live: a program that ends at once has a result") {
  CheckReport report;
  REQUIRE(cli::check_command({"true"}, {}, report));
  INFO(told(report));
  CHECK(report.problems.size() == 1);
  CHECK(report.wait_status == 0);
}

TEST_CASE("check_live: a program that ends at once has the same true answer every time") {
  for (int i = 0; i < 10; ++i) {
    const CheckReport brief = check_program({kUnruly, "brief"});
    INFO(told(brief));
    CHECK(subject_of_file(brief, "unruly") != nullptr);
    CHECK(brief.effort.labelled > 0);
    CHECK(brief.problems.empty());
    CHECK(brief.remarks.empty());
    CHECK(brief.wait_status == 0);
    const CheckReport none = check_program({"true"});
    REQUIRE(none.problems.size() == 1);
    // The C library is one of them; it was checked when it was loaded.
    const std::string& text = none.problems.front().error.context;
    INFO(text);
    CHECK(text.find("sets no labels") != std::string::npos);
    CHECK(text.find("(1 loaded") == std::string::npos);
    CHECK(text.find("(2 loaded") == std::string::npos);
  }
}

TEST_CASE("check_live: signals and stops of a checked program are its own") {
  // The shell counts its signals, stops itself until its child continues it, and reports its
  // status.
  const CheckReport report =
      check_program({"sh", "-c",
                     "n=0; trap 'n=$((n+1))' USR1; for i in 1 2 3 4 5; do kill -USR1 $$; done; "
                     "(while kill -CONT $$; do sleep 0.02; done) & kill -STOP $$; exit $n"});
  INFO(told(report));
  REQUIRE(report.wait_status);
  CHECK(WIFEXITED(*report.wait_status));
  CHECK(WEXITSTATUS(*report.wait_status) == 5);
  CHECK_FALSE(report.ended_by_check);
}

TEST_CASE("check_live: what cannot be started says why") {
  CheckReport report;
  const Status missing = cli::check_command({"/nonexistent/program"}, {}, report);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().context.find("/nonexistent/program") != std::string::npos);
  const Status not_executable = cli::check_command({"/etc/passwd"}, {}, report);
  REQUIRE_FALSE(not_executable);
  CHECK(not_executable.error().code == ErrorCode::kUnsupported);
  CHECK(not_executable.error().context.find("Permission denied") != std::string::npos);
  CHECK_FALSE(has_children());
}

TEST_CASE("check_live: no such process") {
  CheckReport report;
  const Status gone = cli::check_process(Pid{0x3fffffff}, {}, report);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == ErrorCode::kVanished);
}

TEST_CASE("check_live: the program's own end is reported") {
  const CheckReport with_status = check_program({kUnruly, "status"});
  REQUIRE(with_status.wait_status);
  CHECK(WEXITSTATUS(*with_status.wait_status) == 7);
  const CheckReport crashed = check_program({kUnruly, "crash"});
  REQUIRE(crashed.wait_status);
  CHECK(WIFSIGNALED(*crashed.wait_status));
  CHECK(WTERMSIG(*crashed.wait_status) == SIGSEGV);
  CHECK_FALSE(crashed.ended_by_check);
  CHECK(broken(crashed).empty());
}

TEST_CASE("check_live: a program that runs on is ended after the timeout, also one that is deaf") {
  for (const char* what : {"forever", "deaf", "stopped"}) {
    const bool deaf = std::string(what) == "deaf";
    CheckReport report;
    // On a busy machine it takes longer until labels are seen.
    for (const int time : {1500, 6000, 24000}) {
      LiveCheckOptions options = soon(milliseconds(time));
      options.grace = deaf ? milliseconds(50) : std::chrono::seconds(30);
      report = check_program({kUnruly, what}, options);
      if (report.effort.labelled > 0) break;
    }
    INFO(what << '\n' << told(report));
    CHECK(report.ended_by_check);
    REQUIRE(report.wait_status);
    CHECK(WIFSIGNALED(*report.wait_status));
    CHECK(WTERMSIG(*report.wait_status) == (deaf ? SIGKILL : SIGTERM));
    CHECK(says(report.remarks, "--timeout"));
    CHECK(report.effort.labelled > 0);
    CHECK_FALSE(has_children());
  }
}

TEST_CASE("check_live: Ctrl-C ends the check and the program") {
  LiveCheckOptions options = soon(std::chrono::seconds(60));
  options.grace = milliseconds(50);
  int asked = 0;
  options.cancelled = [&asked] { return ++asked > 20; };
  const CheckReport report = check_program({kUnruly, "deaf"}, options);
  INFO(told(report));
  CHECK(says(report.remarks, "interrupted"));
  CHECK_FALSE(has_children());
}

TEST_CASE("check_live: children of a program are checked, however they came about") {
  for (const char* what : {"fork", "vfork"}) {
    const CheckReport report = check_program({kUnruly, what});
    INFO(what << '\n' << told(report));
    CHECK(broken(report) == std::set<std::string>{"LS044"});
    CHECK(report.wait_status == 0);
  }
  const CheckReport by_shell = check_program({"sh", "-c", kUnruly + " break-a-rule; exit 0"});
  INFO(told(by_shell));
  CHECK(broken(by_shell) == std::set<std::string>{"LS044"});
  const CheckReport executed = check_program({"sh", "-c", "exec " + kUnruly + " break-a-rule"});
  INFO(told(executed));
  CHECK(broken(executed) == std::set<std::string>{"LS044"});
}

TEST_CASE("check_live: what is started late is looked at closely, too") {
  // The program has labels for 0.7 s. At the slow pace of a check that has run this long, some
  // thirty samples would fall into that time; on a loaded machine it may take more than one try to
  // get more.
  for (const std::string& start : {kUnruly + " status; exit 0", "exec " + kUnruly + " status"}) {
    std::uint64_t most = 0;
    for (int i = 0; i < 5 && most < 80; ++i) {
      most = std::max(most, check_program({"sh", "-c", "sleep 1.5; " + start}).effort.labelled);
    }
    INFO(start);
    CHECK(most >= 80);
  }
}

TEST_CASE("check_live: what a program leaves running is ended, and nothing else") {
  const pid_t bystander = ::fork();
  if (bystander == 0) {
    for (;;) ::pause();
  }
  const fs::path file =
      fs::temp_directory_path() / ("labelscope-daemon-" + std::to_string(getpid()));
  LiveCheckOptions options;
  options.grace = milliseconds(50);
  const CheckReport report = check_program({kUnruly, "daemon", file}, options);
  INFO(told(report));
  std::int32_t daemon = 0;
  std::ifstream(file) >> daemon;
  fs::remove(file);
  REQUIRE(daemon > 0);
  CHECK(says(report.remarks, "(" + std::to_string(daemon) + ")"));
  CHECK_FALSE(runs(Pid{daemon}));
  ::kill(daemon, SIGKILL);
  CHECK(runs(Pid{bystander}));
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

}  // namespace labelscope::test
