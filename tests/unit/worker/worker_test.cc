// Tests workers that die, hang, or send forbidden messages, at each point of a conversation. Each
// ends one request, in time, with a sentence; and the next request is answered.
#include "cli/worker/worker.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

#include "support/catch.h"
#include "support/forked_worker.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

using Kind = Worker::Outcome::Kind;
using namespace std::chrono_literals;

struct Answered {
  Worker::Outcome outcome;
  std::vector<std::string> replies;
  std::chrono::milliseconds taken{};
};

Answered ask(Worker& worker, std::chrono::milliseconds patience = 20s) {
  Answered answered;
  Worker::Request request;
  request.task = "any";
  const auto start = Worker::Clock::now();
  request.deadline = start + patience;
  request.on_reply = [&](std::string_view body) -> Status {
    answered.replies.emplace_back(body);
    if (body == "bad") return Error{ErrorCode::kMalformed, "that is bad"};
    return {};
  };
  request.on_ask = [](std::string_view body) -> Result<Message> {
    if (body == "bad") return Error{ErrorCode::kMalformed, "that is a bad question"};
    return Message{Message::Kind::kGive, std::string(body) + "!", {}};
  };
  answered.outcome = worker.ask(std::move(request));
  answered.taken =
      std::chrono::duration_cast<std::chrono::milliseconds>(Worker::Clock::now() - start);
  return answered;
}

void say(Channel& channel, Message::Kind kind, std::string body = {}) {
  (void)channel.send({kind, std::move(body), {}}, 10s);
}
void wait_for_request(Channel& channel) { (void)channel.receive(std::chrono::milliseconds(-1)); }

// `act` runs after the worker has reported that it is ready, and has received the request.
Answered ask_one_that(const std::function<void(Channel&)>& act,
                      std::chrono::milliseconds patience = 20s) {
  Worker worker(forked_worker([&](Channel& channel) {
    say_ready(channel);
    wait_for_request(channel);
    act(channel);
  }));
  return ask(worker, patience);
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("worker: parts of the answer, questions, and the end") {
  const Answered answered = ask_one_that([](Channel& channel) {
    say(channel, Message::Kind::kReply, "one");
    say(channel, Message::Kind::kAsk, "which");
    auto given = channel.receive(std::chrono::milliseconds(-1));
    say(channel, Message::Kind::kReply, (*given)->body);
    say(channel, Message::Kind::kDone);
    hang();
  });
  CHECK(answered.outcome.kind == Kind::kAnswered);
  CHECK(answered.replies == std::vector<std::string>{"one", "which!"});
}

TEST_CASE("worker: a task that cannot says why, and the worker goes on") {
  Worker worker(honest_worker());
  const Answered answered = ask(worker);
  CHECK(answered.outcome.kind == Kind::kNoAnswer);
  CHECK(answered.outcome.why == "the worker knows no task any");
  CHECK(worker.is_running());
  CHECK(worker.generation() == 1);
}

TEST_CASE("worker: it dies before it is ready, after that, and in the middle") {
  for (const bool ready : {false, true}) {
    Worker worker(forked_worker([ready](Channel& channel) {
      if (ready) say_ready(channel);
      ::raise(SIGSEGV);
    }));
    const Answered answered = ask(worker);
    CHECK(answered.outcome.kind == (ready ? Kind::kDied : Kind::kNoWorker));
    CHECK(answered.outcome.why.find("SIGSEGV") != std::string::npos);
  }
  const struct {
    int signal;
    const char* why;
  } deaths[] = {{SIGBUS, "the file became shorter while it was read (SIGBUS)"},
                {SIGKILL, "it was killed (SIGKILL; is memory short?)"},
                {SIGXCPU, "it used too much processor time (SIGXCPU)"},
                {SIGABRT, "it crashed (SIGABRT)"}};
  for (const auto& death : deaths) {
    const Answered answered = ask_one_that([&](Channel& channel) {
      say(channel, Message::Kind::kReply, "one");
      ::raise(death.signal);
    });
    CHECK(answered.outcome.kind == Kind::kDied);
    CHECK(answered.outcome.why == death.why);
  }
  const Answered ended = ask_one_that([](Channel&) { _exit(7); });
  CHECK(ended.outcome.why == "it ended by itself (status 7)");
  const Answered memory = ask_one_that([](Channel&) { _exit(kWorkerOutOfMemory); });
  CHECK(memory.outcome.why == "it needs more than 1024 MiB of memory");
}

TEST_CASE("worker: it hangs, also with the connection closed") {
  const Answered answered = ask_one_that([](Channel&) { hang(); }, 100ms);
  CHECK(answered.outcome.kind == Kind::kLate);
  CHECK(answered.taken < 5s);
  const Answered closed = ask_one_that([](Channel& channel) {
    channel.close();
    hang();
  });
  CHECK(closed.outcome.kind == Kind::kDied);
  CHECK(closed.outcome.why == "it closed the connection");
  CHECK(closed.taken < 10s);
}

TEST_CASE("worker: it says what it must not") {
  const std::function<void(Channel&)> wrongs[] = {
      [](Channel& channel) { say(channel, Message::Kind::kReply, "bad"); },
      [](Channel& channel) { say(channel, Message::Kind::kAsk, "bad"); },
      [](Channel& channel) { say(channel, Message::Kind::kReady); },
      [](Channel& channel) { say(channel, Message::Kind::kRequest, "labelscope"); },
      [](Channel& channel) { say(channel, Message::Kind::kGive); },
      // labelscope takes no descriptor from a worker.
      [](Channel& channel) {
        Message message{Message::Kind::kReply, "x", {}};
        message.files.emplace_back(::dup(0));
        (void)channel.send(message, 10s);
      }};
  for (const auto& wrong : wrongs) {
    const Answered answered = ask_one_that([&](Channel& channel) {
      wrong(channel);
      hang();
    });
    CHECK(answered.outcome.kind == Kind::kGarbage);
    CHECK_FALSE(answered.outcome.why.empty());
    CHECK(answered.taken < 5s);
  }
}

TEST_CASE("worker: answers without end are cut at the deadline") {
  const Answered answered = ask_one_that(
      [](Channel& channel) {
        for (;;) say(channel, Message::Kind::kReply);
      },
      200ms);
  CHECK(answered.outcome.kind == Kind::kLate);
  CHECK(answered.taken < 5s);
}

TEST_CASE(
    "worker: after one that died, ready or not, there is another, but not if none can be had") {
  int started = 0;
  const Launcher dies = forked_worker([](Channel& channel) {
    say_ready(channel);
    wait_for_request(channel);
  });
  Worker worker([&](std::uint64_t memory) {
    return ++started == 1 ? dies(memory) : honest_worker()(memory);
  });
  CHECK(ask(worker).outcome.kind == Kind::kDied);
  CHECK(ask(worker).outcome.kind == Kind::kNoAnswer);
  CHECK(worker.generation() == 2);

  started = 0;
  Worker unready([&](std::uint64_t memory) {
    return ++started < 3 ? forked_worker([](Channel&) { ::raise(SIGKILL); })(memory)
                         : honest_worker()(memory);
  });
  CHECK(ask(unready).outcome.kind == Kind::kNoAnswer);
  CHECK(started == 3);

  started = 0;
  Worker none([&](std::uint64_t) -> Result<Launched> {
    ++started;
    return Error{ErrorCode::kSystem, "no memory"};
  });
  for (int i = 0; i < 3; ++i) {
    const Answered answered = ask(none);
    CHECK(answered.outcome.kind == Kind::kNoWorker);
    CHECK(answered.outcome.why ==
          "the process that looks at foreign files cannot be started: no memory");
  }
  CHECK(started == 1);

  Worker refuses(forked_worker(
      [](Channel& channel) { say(channel, Message::Kind::kRefused, "seccomp refuses"); }));
  const Answered answered = ask(refuses);
  CHECK(answered.outcome.kind == Kind::kNoWorker);
  CHECK(answered.outcome.why.find("seccomp refuses") != std::string::npos);
}

TEST_CASE("worker: cancelling ends a request at once, whatever the worker does") {
  bool cancelled = false;
  Worker worker(forked_worker([](Channel& channel) {
                  say_ready(channel);
                  hang();
                }),
                [&] { return std::exchange(cancelled, true); });
  const Answered answered = ask(worker);
  CHECK(answered.outcome.kind == Kind::kCancelled);
  CHECK(answered.taken < 1s);
  CHECK_FALSE(worker.is_running());
}

TEST_CASE("worker: cancelling does not wait for a worker that needs long to end") {
  // A tracer holds the worker in its last moment. On a busy machine the kernel takes as long there,
  // giving back a gigabyte.
  int told[2];
  int held[2];
  REQUIRE(::pipe(told) == 0);
  REQUIRE(::pipe(held) == 0);
  const pid_t tracer = ::fork();
  REQUIRE(tracer >= 0);
  if (tracer == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t worker = 0;
    const bool seized = ::read(told[0], &worker, sizeof worker) == sizeof worker &&
                        ::ptrace(PTRACE_SEIZE, worker, nullptr, PTRACE_O_TRACEEXIT) == 0;
    if (::write(held[1], &seized, sizeof seized) < 0) _exit(1);
    for (;;) ::pause();
  }
  std::string reply;
  Worker::Clock::time_point replied;
  Worker worker(
      forked_worker([&](Channel& channel) {
        ::prctl(PR_SET_PTRACER, tracer);
        const pid_t own = ::getpid();
        bool seized = false;
        if (::write(told[1], &own, sizeof own) < 0 || ::read(held[0], &seized, sizeof seized) < 0) {
          _exit(1);
        }
        say_ready(channel);
        say(channel, Message::Kind::kReply, seized ? "held" : "refused");
        hang();
      }),
      [&] { return !reply.empty(); });
  Worker::Request request;
  request.task = "any";
  request.deadline = Worker::Clock::now() + 20s;
  request.on_reply = [&](std::string_view body) {
    reply = body;
    replied = Worker::Clock::now();
    return Status();
  };
  const Worker::Outcome outcome = worker.ask(std::move(request));
  const auto taken = Worker::Clock::now() - replied;
  ::kill(tracer, SIGKILL);
  REQUIRE(::waitpid(tracer, nullptr, 0) == tracer);
  for (const int end : {told[0], told[1], held[0], held[1]}) ::close(end);
  if (reply == "refused") skip_test("this process may not trace its children");
  CHECK(reply == "held");
  CHECK(outcome.kind == Kind::kCancelled);
  CHECK_FALSE(worker.is_running());
  CHECK(taken < 1s);  // without such a request labelscope waits for 2 s
}

TEST_CASE("worker: one that may have more memory takes the place of one that may not") {
  Worker worker(honest_worker());
  CHECK(ask(worker).outcome.kind == Kind::kNoAnswer);
  Worker::Request request;
  request.task = "any";
  request.memory = 2 * kWorkerMemory;
  request.deadline = Worker::Clock::now() + 20s;
  CHECK(worker.ask(std::move(request)).kind == Kind::kNoAnswer);
  CHECK(worker.generation() == 2);
  CHECK(ask(worker).outcome.kind == Kind::kNoAnswer);
  CHECK(worker.generation() == 2);
}
