// labelscope's side of the worker: sends requests, waits with a limit, and survives any failure of
// it.
//
// The worker reads files that a target chose, so each request may be its last: it may die (for want
// of memory, by a signal, by a forbidden call), hang, or be controlled by a file, and then send
// anything. Each of these ends this one request with a sentence; the next one has a new worker.
// Time and packets are bounded here; the code that sends a request checks its replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/worker/channel.h"
#include "cli/worker/launch.h"

namespace labelscope::cli {

// The usual memory of a worker: libdw's tables of all lines and functions of a large program fit.
inline constexpr std::uint64_t kWorkerMemory = std::uint64_t{1} << 30;

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Request {
    std::string_view task;
    std::string body;
    std::vector<UniqueFd> files;
    std::uint64_t memory = kWorkerMemory;  // the worker needs this much memory
    Clock::time_point deadline;            // the time in on_ask does not count
    // Takes a part of the answer. If it fails, this was no answer to the request, and the worker is
    // ended.
    std::function<Status(std::string_view body)> on_reply;
    // Gives the worker what it needs to continue. If it fails, the worker is ended, too. May be
    // empty.
    std::function<Result<Message>(std::string_view body)> on_ask;
  };
  struct Outcome {
    enum class Kind {
      kAnswered,
      kNoAnswer,  // the task cannot answer; the worker continues. After all the others it does not:
      kDied,
      kLate,       // the deadline has passed
      kGarbage,    // it sent something that no worker may send
      kCancelled,  // the user has stopped labelscope
      kNoWorker,   // no worker can be started here
    };
    Kind kind = Kind::kAnswered;
    std::string why;  // a clause; empty for kAnswered
  };

  // `cancelled` is called at least fifty times a second while there is a request; it may be empty.
  // Once it returns true, a worker that was killed is not waited for, and may live for a moment
  // longer.
  explicit Worker(Launcher launch, std::function<bool()> cancelled = {})
      : launch_(std::move(launch)), cancelled_(std::move(cancelled)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { end(); }

  // Starts the process and does not wait for it: labelscope can do other work meanwhile.
  void begin();
  Outcome ask(Request request);
  // Ends the process. The next request has another one.
  void end();

  bool is_running() const { return channel_.has_value(); }
  pid_t pid() const { return pid_; }
  // Returns the number of this process: the first is 1. The next process has none of the files of
  // this one.
  unsigned generation() const { return generation_; }
  // Returns the protections that the worker could not have on this machine (seal.h); empty if it
  // has all, or if there was none yet.
  const std::string& not_given_up() const { return not_given_up_; }

 private:
  using Kind = Outcome::Kind;
  std::optional<Outcome> prepare(std::uint64_t memory);
  std::optional<Outcome> start(std::uint64_t memory);
  std::optional<Outcome> wait_until_ready();
  Outcome converse(Request& request);
  Outcome died();
  // Returns 0 if it has not ended, or the user has stopped labelscope, and less if other code has
  // collected it.
  pid_t collect(int* status) const;
  Outcome ended(Kind kind, std::string why);
  bool stopped() const { return cancelled_ && cancelled_(); }

  Launcher launch_;
  std::function<bool()> cancelled_;
  std::optional<Channel> channel_;
  pid_t pid_ = 0;
  std::uint64_t memory_ = 0;
  bool ready_ = false;
  unsigned generation_ = 0;
  std::string not_given_up_;
  std::string unusable_;  // why no worker can be started
};

}  // namespace labelscope::cli
