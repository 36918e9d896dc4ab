// Tests the set of targets: real processes, and commands that are held until they may run.
#include "cli/record/targets.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/record/found_processes.h"
#include "cli/record/recorder.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A sampler that accepts every process, and sees nothing.
class IdleSampler final : public Sampler {
 public:
  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, 1}; }
  Status start() override { return {}; }
  Status drain(EventHandler&, std::chrono::milliseconds) override { return {}; }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }
};

// A child that waits until it is killed, at the latest with this object. It has its name from the
// first moment that this object exists.
class Waiting {
 public:
  explicit Waiting(const std::string& name = {}) {
    std::array<int, 2> named{};
    REQUIRE(pipe2(named.data(), O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      if (!name.empty()) prctl(PR_SET_NAME, name.c_str());
      close(named[0]);
      close(named[1]);
      while (true) pause();
    }
    close(named[1]);
    char none = 0;
    while (read(named[0], &none, 1) < 0) {
    }
    close(named[0]);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { end(); }
  Pid pid() const { return Pid{pid_}; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

// comm has at most 15 bytes.
std::string name_of_this_test(const std::string& what) { return what + std::to_string(getpid()); }

std::string own_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

Signals& signals() {
  static Signals all;  // one object for the process
  return all;
}

std::unique_ptr<Targets> found(const SessionOptions& options) {
  auto targets = find_targets(options, signals(), [](const std::string&) {});
  INFO((targets ? "" : targets.error().context));
  REQUIRE(targets);
  return *std::move(targets);
}

SessionOptions naming(std::vector<Pid> pids) {
  SessionOptions options;
  options.wanted.processes.pids = std::move(pids);
  return options;
}

SessionOptions starting(std::vector<std::string> command) {
  SessionOptions options;
  options.command = std::move(command);
  return options;
}

}  // namespace

TEST_CASE("targets: processes are called by number and name, files by the first of them") {
  const Waiting first;
  const Waiting second;
  const auto targets = found(naming({first.pid(), second.pid()}));
  const std::string name = own_name();
  const std::string number = std::to_string(raw(first.pid()));
  CHECK(targets->names() ==
        number + " (" + name + "), " + std::to_string(raw(second.pid())) + " (" + name + ")");
  CHECK(targets->base_name() == name + "-" + number);
  CHECK(targets->first().size() == 2);
  CHECK_FALSE(targets->is_command());
}

TEST_CASE("targets: children that exist are counted, where they are wanted") {
  const Waiting child;
  const auto names = [](bool follow_children) {
    SessionOptions options = naming({Pid{getpid()}});
    options.follow_children = follow_children;
    const auto targets = found(options);
    Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
    REQUIRE(targets->add_to(recorder, Backend::kBpf));
    CHECK(recorder.processes().size() == (follow_children ? 2 : 1));
    return targets->names();
  };
  CHECK(names(true).ends_with(" and its 1 child process"));
  CHECK(names(false).ends_with(")"));
}

TEST_CASE("targets: they have ended when the last one has") {
  Waiting first;
  Waiting second;
  const auto targets = found(naming({first.pid(), second.pid()}));
  first.end();
  CHECK_FALSE(targets->ended());
  second.end();
  CHECK(targets->ended());
  CHECK(find_targets(naming({Pid{1 << 22}}), signals(), {}).error().code == ErrorCode::kVanished);
}

TEST_CASE(
    "targets: of those that a name finds, one that has ended is named, and the rest is added") {
  const std::string name = name_of_this_test("many");
  const Waiting first(name);
  Waiting second(name);
  SessionOptions options;
  options.wanted.processes.names = {name};
  const auto targets = found(options);
  REQUIRE(targets->first().size() == 2);
  const std::string number = std::to_string(raw(second.pid()));
  second.end();
  Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
  REQUIRE(targets->add_to(recorder, Backend::kBpf));
  CHECK(recorder.processes().size() == 1);
  CHECK(recorder.has(first.pid()));
  CHECK(targets->names() == "-p " + name + " (2 processes): " + std::to_string(raw(first.pid())) +
                                " (" + name + ") (without " + number + " (" + name +
                                "): no process " + number + ")");
}

TEST_CASE("targets: if all that a name finds have ended, the error has the name") {
  const std::string name = name_of_this_test("gone");
  Waiting only(name);
  SessionOptions options;
  options.wanted.processes.names = {name};
  const auto targets = found(options);
  only.end();
  Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
  const Status added = targets->add_to(recorder, Backend::kBpf);
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kVanished);
  CHECK(added.error().context.starts_with("-p " + name + " (1 process): no process "));
}

// The process that was found ends before it is added, and the next one between that and sampling.
TEST_CASE("targets: waiting goes on until a process is there while samples are taken") {
  const std::string name = name_of_this_test("wait");
  std::optional<Waiting> process(name);
  SessionOptions options;
  options.wanted.wait_for = {name};
  std::string said;
  const auto targets = *find_targets(options, signals(), [&](const std::string& line) {
    said += line + "\n";
    if (line.find("waiting for the next one") != std::string::npos) process.emplace(name);
  });
  const Pid early = process->pid();
  process->end();
  Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
  REQUIRE(targets->add_to(recorder, Backend::kBpf));
  CHECK(said.find("--wait-for " + name + ": process " + std::to_string(raw(early)) +
                  " ended before it could be recorded") != std::string::npos);
  CHECK(process->pid() != early);
  CHECK(targets->first() == std::vector{process->pid()});
  CHECK(recorder.has(process->pid()));

  REQUIRE(recorder.start());
  process->end();
  CHECK_FALSE(targets->ended());  // says so, which starts the next one
  CHECK(targets->awaited());
  targets->join(recorder);
  CHECK(recorder.has(process->pid()));
  CHECK_FALSE(targets->ended());
  CHECK_FALSE(targets->awaited());
  process->end();
  CHECK(targets->ended());
  CHECK_FALSE(targets->awaited());
}

TEST_CASE("targets: a process that stands still says what lets it go on") {
  const Waiting process;
  const auto targets = found(naming({process.pid()}));
  CHECK(targets->standstill().empty());
  kill(raw(process.pid()), SIGSTOP);
  waitpid(raw(process.pid()), nullptr, WUNTRACED);
  CHECK(targets->standstill().find("kill -CONT " + std::to_string(raw(process.pid()))) !=
        std::string::npos);
}

TEST_CASE("targets: a command waits to be released, and labelscope exits as it does") {
  const std::string mark = std::filesystem::temp_directory_path() / std::to_string(getpid());
  const auto targets = found(starting({"sh", "-c", "touch " + mark + "; exit 7"}));
  CHECK(targets->is_command());
  CHECK(targets->names() == std::to_string(raw(targets->first().front())) + " (sh)");
  Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
  REQUIRE(targets->add_to(recorder, Backend::kBpf));
  CHECK_FALSE(targets->ended());
  CHECK_FALSE(std::filesystem::exists(mark));
  CHECK_FALSE(targets->release());
  CHECK(targets->exit_status(signals(), [] {}, false) == 7);
  CHECK(targets->ended());
  CHECK(std::filesystem::remove(mark));
}

TEST_CASE("targets: a command is ended where that is wanted, and its own end has its own status") {
  Recorder recorder(std::make_unique<IdleSampler>(), {.period_ns = 1000});
  const auto server = found(starting({"sleep", "1000"}));
  REQUIRE(server->add_to(recorder, Backend::kBpf));
  REQUIRE_FALSE(server->release());
  bool waited = false;
  CHECK(server->exit_status(signals(), [&] { waited = true; }, true) == 0);
  CHECK_FALSE(waited);
  CHECK(server->ended());
  const auto short_one = found(starting({"sh", "-c", "exit 7"}));
  REQUIRE(short_one->add_to(recorder, Backend::kBpf));
  REQUIRE_FALSE(short_one->release());
  while (!short_one->ended()) usleep(1000);
  CHECK(short_one->exit_status(signals(), [] {}, true) == 7);
}

TEST_CASE("targets: what cannot be executed has the exit status of a shell") {
  const auto status_of = [](const std::string& command) {
    const auto targets = found(starting({command}));
    const auto failed = targets->release();
    REQUIRE(failed);
    CHECK(failed->why.find("cannot run " + command) == 0);
    return failed->exit_status;
  };
  CHECK(status_of("/nonexistent/program") == 127);
  CHECK(status_of("/dev/null") == 126);
}

TEST_CASE("targets: the time of a command is that of all its children, where these are recorded") {
  for (const bool follow_children : {true, false}) {
    SessionOptions options =
        starting({"sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done"});
    options.follow_children = follow_children;
    const auto targets = found(options);
    CHECK_FALSE(targets->release());
    CHECK(targets->exit_status(signals(), [] {}, false) == 0);
    CHECK((targets->whole_time_ns() > 0) == follow_children);
  }
}
