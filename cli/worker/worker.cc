#include "cli/worker/worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "cli/worker/worker_main.h"

namespace labelscope::cli {
namespace {

using std::chrono::milliseconds;

// While labelscope waits for the worker, it checks this often whether the user has cancelled.
constexpr milliseconds kBetweenAsking{20};
// A very busy machine, or a slow disk with the programs, needs this long.
constexpr std::chrono::seconds kMostStarting{20};
// So many that die before they are ready, one after the other, are no accident.
constexpr unsigned kMostStarts = 3;
// The kernel takes a moment to free a gigabyte.
constexpr std::chrono::seconds kMostEnding{2};

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string death_by(int signal) {
  switch (signal) {
    case SIGSYS:
      return "it tried to do what it may not do (SIGSYS)";
    case SIGBUS:
      return "the file became shorter while it was read (SIGBUS)";
    case SIGXCPU:
      return "it used too much processor time (SIGXCPU)";
    case SIGKILL:
      return "it was killed (SIGKILL; is memory short?)";
    default:
      return std::string("it crashed (") + (::sigabbrev_np(signal) == nullptr ? "signal " : "SIG") +
             (::sigabbrev_np(signal) == nullptr ? std::to_string(signal) : ::sigabbrev_np(signal)) +
             ")";
  }
}

std::string end_of(int status, std::uint64_t memory) {
  if (WIFSIGNALED(status)) return death_by(WTERMSIG(status));
  if (WEXITSTATUS(status) == kWorkerOutOfMemory) {
    return "it needs more than " + mebibytes(memory) + " of memory";
  }
  return "it ended by itself (status " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

void Worker::begin() {
  if (!channel_ && unusable_.empty()) start(kWorkerMemory);
}

void Worker::end() {
  channel_.reset();
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  // Other code may have collected it: then there is no such child. If it waits for a disk that
  // never answers, or the user waits for labelscope, it is left behind, and dies when the kernel
  // gets to it.
  collect(nullptr);
  pid_ = 0;
}

pid_t Worker::collect(int* status) const {
  const auto since = Clock::now();
  pid_t collected = 0;
  // On a busy machine its memory is freed only when it gets a processor. After Ctrl-C the user does
  // not wait for that.
  while ((collected = ::waitpid(pid_, status, WNOHANG)) == 0 && !stopped() &&
         Clock::now() - since < kMostEnding) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return collected;
}

std::optional<Worker::Outcome> Worker::start(std::uint64_t memory) {
  if (channel_ && memory > memory_) end();
  if (channel_) return std::nullopt;
  if (unusable_.empty()) {
    Result<Launched> launched = launch_(memory);
    if (launched) {
      pid_ = launched->pid;
      channel_.emplace(std::move(launched->socket), Channel::Files::kRefused);
      memory_ = memory;
      ready_ = false;
      ++generation_;
      return std::nullopt;
    }
    unusable_ =
        "the process that looks at foreign files cannot be started: " + launched.error().context;
  }
  return Outcome{Kind::kNoWorker, unusable_};
}

Worker::Outcome Worker::ended(Kind kind, std::string why) {
  end();
  return {kind, std::move(why)};
}

// The connection is closed. This finds out how the worker ended.
Worker::Outcome Worker::died() {
  int status = 0;
  const pid_t collected = collect(&status);
  if (collected == 0) return ended(Kind::kDied, "it closed the connection");
  pid_ = 0;  // the number may belong to another process by now
  if (collected < 0) return ended(Kind::kDied, "it is gone");
  return ended(Kind::kDied, end_of(status, memory_));
}

std::optional<Worker::Outcome> Worker::wait_until_ready() {
  const auto since = Clock::now();
  while (!ready_) {
    Result<std::optional<Message>> message = channel_->receive(kBetweenAsking);
    const bool late = Clock::now() - since > kMostStarting;
    if (message && !*message && !late) {
      if (stopped()) return ended(Kind::kCancelled, "labelscope was asked to stop");
      continue;
    }
    if (message && *message && (*message)->kind == Message::Kind::kReady) {
      not_given_up_ = (*message)->body;
      ready_ = true;
      return std::nullopt;
    }
    const std::string what = "the process that looks at foreign files cannot be used: ";
    // Memory may have been short for a moment, or somebody has killed it: ask() starts another.
    if (!message) return Outcome{Kind::kDied, what + died().why};
    // The next one would fail in the same way.
    unusable_ = what;
    if (late) {
      unusable_ += "it was not ready after " + std::to_string(kMostStarting.count()) + " s";
    } else if ((*message)->kind == Message::Kind::kRefused) {
      unusable_ += "it could not give up its rights: " + (*message)->body;
    } else {
      unusable_ += "it began with an answer that was not asked for";
    }
    return ended(Kind::kNoWorker, unusable_);
  }
  return std::nullopt;
}

// A worker that is there and ready. One that dies before that has seen nothing of the request.
std::optional<Worker::Outcome> Worker::prepare(std::uint64_t memory) {
  for (unsigned starts = 1;; ++starts) {
    if (std::optional<Outcome> failed = start(memory)) return failed;
    std::optional<Outcome> failed = wait_until_ready();
    if (!failed || failed->kind != Kind::kDied) return failed;
    if (starts < kMostStarts && !stopped()) continue;
    unusable_ = std::move(failed->why);
    return Outcome{Kind::kNoWorker, unusable_};
  }
}

Worker::Outcome Worker::ask(Request request) {
  if (std::optional<Outcome> failed = prepare(request.memory)) return *failed;
  Message message{Message::Kind::kRequest, std::string(request.task) + '\0' + request.body,
                  std::move(request.files)};
  const auto left = std::max(request.deadline - Clock::now(), Clock::duration::zero());
  const Status sent = channel_->send(message, std::chrono::ceil<milliseconds>(left));
  if (!sent && sent.error().code == ErrorCode::kVanished) return died();
  if (!sent) return ended(Kind::kLate, sent.error().context);
  return converse(request);
}

Worker::Outcome Worker::converse(Request& request) {
  while (true) {
    if (stopped()) return ended(Kind::kCancelled, "labelscope was asked to stop");
    const auto now = Clock::now();
    if (now >= request.deadline) return ended(Kind::kLate, "it took too long");
    const auto left = std::chrono::ceil<milliseconds>(request.deadline - now);
    Result<std::optional<Message>> received = channel_->receive(std::min(left, kBetweenAsking));
    if (!received) {
      if (received.error().code == ErrorCode::kVanished) return died();
      return ended(Kind::kGarbage, received.error().context);
    }
    if (!*received) continue;
    const Message& message = **received;
    switch (message.kind) {
      case Message::Kind::kDone:
        if (message.body.empty()) return {};
        return {Kind::kNoAnswer, message.body};
      case Message::Kind::kReply: {
        const Status taken = request.on_reply(message.body);
        if (!taken) return ended(Kind::kGarbage, taken.error().context);
        break;
      }
      case Message::Kind::kAsk: {
        if (!request.on_ask) return ended(Kind::kGarbage, "it asks for what it cannot need");
        const auto asked = Clock::now();
        Result<Message> given = request.on_ask(message.body);
        if (!given) return ended(Kind::kGarbage, given.error().context);
        given->kind = Message::Kind::kGive;
        if (Status sent = channel_->send(*given, kBetweenAsking); !sent) return died();
        request.deadline += Clock::now() - asked;
        break;
      }
      default:
        return ended(Kind::kGarbage, "it sends messages that are not its to send");
    }
  }
}

}  // namespace labelscope::cli
