// Tests a worker that an attacker has taken over (compromised_worker.cc): it is started and sealed
// like the real one, and then tries what is forbidden.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "cli/worker/worker.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

Launcher compromised() {
  return [](std::uint64_t most_memory) {
    return launch_worker(paths::kCompromisedWorker, most_memory);
  };
}

struct Attempt {
  Worker::Outcome outcome;
  std::string said;
};

Attempt attempt(Worker& worker, std::string_view task, bool with_file = false) {
  Attempt attempt;
  Worker::Request request;
  request.task = task;
  request.body = std::to_string(::getpid());
  if (with_file) request.files.emplace_back(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  request.deadline = Worker::Clock::now() + std::chrono::seconds(60);
  request.on_reply = [&](std::string_view body) {
    attempt.said = body;
    return Status();
  };
  attempt.outcome = worker.ask(std::move(request));
  return attempt;
}

// Without seccomp there is no worker, and nothing to test.
void need_seal(Worker& worker) {
  skip_in_user_mode_emulation();
  const Attempt works = attempt(worker, "work", true);
  if (works.outcome.kind == Worker::Outcome::Kind::kNoWorker) skip_test(works.outcome.why);
  INFO(works.outcome.why);
  REQUIRE(works.outcome.kind == Worker::Outcome::Kind::kAnswered);
  REQUIRE(works.said == "could");
}

std::string status_line(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  }
  return {};
}

}  // namespace

TEST_CASE("sealed_worker: it does its work, and is refused everything else") {
  Worker worker(compromised());
  need_seal(worker);
  for (const char* task :
       {"open_file", "open_file_by_number", "write_file", "signal_labelscope", "signal_thread",
        "trace", "read_memory", "reach_network", "reach_neighbours", "execute", "fork_process",
        "map_code", "protect_code", "raise_limit", "become_root", "renice_user", "renice_group",
        "ask_nice_of_user"}) {
    const Attempt tried = attempt(worker, task);
    INFO(task << ": " << tried.said << tried.outcome.why);
    const bool ended = tried.outcome.kind == Worker::Outcome::Kind::kDied &&
                       tried.outcome.why.find("SIGSYS") != std::string::npos;
    CHECK((ended || tried.said.starts_with("refused")));
    // The next request gets a new worker, which works.
    CHECK(attempt(worker, "work", true).said == "could");
  }
}

TEST_CASE("sealed_worker: it can make itself less urgent") {
  Worker worker(compromised());
  need_seal(worker);
  CHECK(attempt(worker, "renice_itself").said == "could");
}

TEST_CASE("sealed_worker: memory without end ends the worker, with the limit in the reason") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip_test("a sanitizer reserves more addresses than the limit that a worker has without one");
#endif
  Worker worker(compromised());
  need_seal(worker);
  const Attempt tried = attempt(worker, "eat_memory");
  CHECK(tried.outcome.kind == Worker::Outcome::Kind::kDied);
  CHECK(tried.outcome.why == "it needs more than 1024 MiB of memory");
}

TEST_CASE("sealed_worker: the limit of time ends it, whatever the thread blocks that starts it") {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Worker worker(compromised());
  worker.begin();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  need_seal(worker);
  const auto blocked = std::stoull(status_line(worker.pid(), "SigBlk"), nullptr, 16);
  CHECK((blocked & (1ULL << (SIGXCPU - 1))) == 0);
  CHECK((blocked & (1ULL << (SIGINT - 1))) != 0);
}

TEST_CASE("sealed_worker: it has no rights, no user of ours, no terminal and no other files") {
  Worker worker(compromised());
  need_seal(worker);
  const pid_t pid = worker.pid();
  CHECK(status_line(pid, "CapPrm") == "0000000000000000");
  CHECK(status_line(pid, "CapEff") == "0000000000000000");
  CHECK(status_line(pid, "CapAmb") == "0000000000000000");
  CHECK(status_line(pid, "NoNewPrivs") == "1");
  CHECK(status_line(pid, "Seccomp") == "2");
  if (::geteuid() != 0) skip_test("it keeps its user, because this test is not root");
  CHECK(status_line(pid, "CapBnd") == "0000000000000000");
  CHECK(status_line(pid, "Uid").starts_with("65534\t65534\t65534"));
  CHECK(::access(("/proc/" + std::to_string(pid) + "/fd/4").c_str(), F_OK) != 0);
}
