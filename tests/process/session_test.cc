// A whole session, as a command uses it: what a sink opens before the rights go, and what it gets.
#include "cli/record/session.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cli/host/exit_status.h"
#include "process/cpu_times.h"
#include "process/session_child.h"
#include "process/waiting_program.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

// A process that computes until this object goes: in one thread, or in threads that end soon.
class Busy {
 public:
  enum class Threads { kOne, kShort };
  explicit Busy(Threads threads = Threads::kOne) : pid_(fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      if (threads == Threads::kOne) compute_for(std::chrono::seconds(1));
      std::thread([] { compute_for(std::chrono::milliseconds(5)); }).join();
    }
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  pid_t pid_;
};

// Returns a socket with a number that only root may take, or nothing if that is refused.
UniqueFd low_port() {
  for (std::uint16_t port = 1023; port > 600; --port) {
    UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return made;
    if (errno != EADDRINUSE) break;
  }
  return {};
}

// What happened to a sink, in its order.
struct Events {
  std::string order;
  bool opened = false;         // before the rights went
  bool can_open_more = false;  // when the window came
  std::uint64_t samples = 0;
  std::uint64_t written = 0;
};

class SocketSink final : public Sink {
 public:
  Status begin(const std::string& base_name) override {
    socket_ = low_port();
    seen.opened = socket_.valid();
    seen.order += base_name.empty() ? "?" : "b";
    return {};
  }
  std::size_t timed_samples() const override { return SIZE_MAX; }
  Status take(const Window& window) override {
    seen.order += "t";
    seen.can_open_more = low_port().valid();
    seen.written = window.profile.ledger.written;
    for (const SampleRow& row : window.profile.rows) seen.samples += row.time_ns != 0 ? 1 : 0;
    return {};
  }

  Events seen;

 private:
  UniqueFd socket_;
};

class RefusedSink final : public Sink {
 public:
  Status begin(const std::string&) override { return Error{ErrorCode::kUnsupported, "no room"}; }
  Status take(const Window&) override { return {}; }
};

class Listener final : public SessionListener {
 public:
  void found() override { order += "f"; }
  Status planned() override {
    order += "p";
    return {};
  }
  void started() override { order += "s"; }
  void turned(std::chrono::nanoseconds) override { ++turns; }
  void sampled(std::chrono::nanoseconds) override { order += "e"; }
  void stopped() override { order += "x"; }
  void taken(Profile&) override { order += "t"; }

  std::string order;
  int turns = 0;
};

std::string record(const Busy& busy) {
  SocketSink sink;
  Listener listener;
  Signals signals;
  const LabelRules rules;
  const std::vector<std::string> blame;
  const SessionOptions options = watching(busy.pid());
  Session session(options, {rules, blame}, signals, listener, {&sink});
  if (Status ready = session.prepare([](const std::string&) {}); !ready)
    return ready.error().context;
  std::string problem;
  session.run([&] {
    Status done = session.add({});
    if (done) done = session.start();
    if (!done) {
      problem = done.error().context;
      return 1;
    }
    session.sample();
    session.stop();
    session.take();
    session.begin_report();
    static_cast<void>(session.hand_out({session.profile(), session.profile()}));
    return 0;
  });
  if (!problem.empty()) return problem;
  const Events& seen = sink.seen;
  if (!seen.opened) problem += "; the socket was not made before the rights went";
  if (seen.can_open_more) problem += "; the rights are still there";
  if (seen.order != "bt") problem += "; the sink saw " + seen.order;
  if (listener.order != "fpsext") problem += "; the listener saw " + listener.order;
  if (listener.turns == 0) problem += "; there was no turn";
  if (seen.written == 0) problem += "; there was no sample";
  if (seen.samples != seen.written) problem += "; samples have no times";
  return problem;
}

// Cuts a window after each 100 ms.
class Cutter final : public SessionListener {
 public:
  void turned(std::chrono::nanoseconds elapsed) override {
    if (elapsed < std::chrono::milliseconds(100) * (cuts + 1)) return;
    ++cuts;
    if (Status cut = session->cut(); !cut) problem = "; " + cut.error().context;
  }
  void taken(Profile& window) override {
    std::uint64_t weights = 0;
    std::uint64_t counts = 0;
    for (const SampleRow& row : window.rows) {
      weights += row.weight_ns;
      counts += row.count;
    }
    const Ledger& ledger = window.ledger;
    if (weights != ledger.time.attributed_ns) problem += "; rows have another time";
    if (counts != ledger.written) problem += "; rows have other samples";
    if (ledger.taken != ledger.written + ledger.dropped) problem += "; samples do not add up";
    if (window.start_monotonic_ns < end_ns) problem += "; windows overlap";
    end_ns = window.start_monotonic_ns + window.duration_ns;
    time_ns += ledger.time.whole();
    twice_ns += ledger.time.twice_ns;
    samples += counts;
  }

  Session* session = nullptr;
  int cuts = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t twice_ns = 0;
  std::uint64_t samples = 0;
  std::string problem;
};

// The windows of a session, held against the clock of the process.
std::string record_windows(const Busy& busy, Backend backend,
                           std::chrono::milliseconds duration = std::chrono::milliseconds(550)) {
  constexpr std::uint64_t kTicks = 20'000'000;
  Cutter cutter;
  Signals signals;
  const LabelRules rules;
  const std::vector<std::string> blame;
  SessionOptions options = watching(busy.pid());
  options.backend = backend;
  options.duration = duration;
  Session session(options, {rules, blame}, signals, cutter, {});
  cutter.session = &session;
  if (Status ready = session.prepare([](const std::string&) {}); !ready)
    return ready.error().context;
  std::string problem;
  session.run([&] {
    Status done = session.add({});
    const std::uint64_t before = process_time(busy.pid()).value_or(0);
    if (done) done = session.start();
    if (!done) {
      problem = done.error().context;
      return 1;
    }
    const std::uint64_t least = process_time(busy.pid()).value_or(0);
    session.sample();
    const std::uint64_t most = process_time(busy.pid()).value_or(0);
    session.stop();
    const std::uint64_t after = process_time(busy.pid()).value_or(0);
    session.take();
    const std::string time = std::to_string(cutter.time_ns);
    if (cutter.time_ns + kTicks < most - least || cutter.time_ns > after - before + kTicks)
      problem += "; the windows have " + time + " of " + std::to_string(most - least) + " to " +
                 std::to_string(after - before) + " ns";
    return 0;
  });
  problem += cutter.problem;
  if (cutter.cuts < 2) problem += "; windows were " + std::to_string(cutter.cuts);
  if (cutter.twice_ns != 0) problem += "; twice: " + std::to_string(cutter.twice_ns);
  if (cutter.samples != session.recorder().samples()) problem += "; samples are missing";
  if (cutter.samples == 0) problem += "; there was no sample";
  return problem;
}

}  // namespace

TEST_CASE("session: windows add up to the clock of the process, by BPF") {
  labelscope::test::skip_without_bpf();
  const Busy busy;
  expect_nothing_wrong(in_a_child([&] { return record_windows(busy, Backend::kBpf); }));
}

TEST_CASE("session: windows add up where threads end all the time") {
  labelscope::test::skip_without_bpf();
  const Busy busy(Busy::Threads::kShort);
  // Each of some twenty cuts comes while a thread begins or ends.
  constexpr std::chrono::milliseconds kLong{2050};
  expect_nothing_wrong(in_a_child([&] { return record_windows(busy, Backend::kBpf, kLong); }));
}

TEST_CASE("session: windows add up to the clock of the process, by ptrace") {
  labelscope::test::skip_without_ptrace();
  const Busy busy;
  expect_nothing_wrong(in_a_child([&] { return record_windows(busy, Backend::kPtrace); }));
}

TEST_CASE("session: a sink opens a socket before the rights go, and takes the window") {
  labelscope::test::skip_without_bpf();
  if (!low_port().valid()) skip_test("this user may not take a port below 1024");
  const Busy busy;
  expect_nothing_wrong(in_a_child([&] { return record(busy); }));
}

TEST_CASE("session: a sink that cannot begin ends it before anything is sampled") {
  labelscope::test::skip_without_ptrace();
  const Busy busy;
  const std::string wrong = in_a_child([&]() -> std::string {
    RefusedSink sink;
    Listener listener;
    Signals signals;
    const LabelRules rules;
    const std::vector<std::string> blame;
    SessionOptions options = watching(busy.pid());
    options.backend = Backend::kPtrace;
    Session session(options, {rules, blame}, signals, listener, {&sink});
    const Status ready = session.prepare([](const std::string&) {});
    if (ready) return "it was ready";
    if (ready.error().context != "no room") return ready.error().context;
    if (session.exit_status() != kExitUsage) return "another exit status";
    return listener.order == "f" ? "" : "the listener saw " + listener.order;
  });
  expect_nothing_wrong(wrong);
}
