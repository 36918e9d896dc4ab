// labelscope's side of the worker: asks, waits with a limit, and survives whatever becomes of it.
//
// The worker reads files that a target chose, so each request may be its last: it may die (of
// memory, of a signal, of a forbidden call), hang, or be taken over by whoever made the file, and
// then send anything. Each of these ends this one request with a sentence; the next one has a new
// worker. What comes is bounded here (time, packets) and checked by whoever asked (replies).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/worker/channel.h"
#include "cli/worker/launch.h"

namespace labelscope::cli {

// What a worker may have if nobody needs more: libdw's tables of all lines and functions of a large
// program fit.
inline constexpr std::uint64_t kWorkerMemory = std::uint64_t{1} << 30;

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Request {
    std::string_view task;
    std::string body;
    std::vector<UniqueFd> files;
    std::uint64_t memory = kWorkerMemory;  // needs a worker that may have so much
    Clock::time_point deadline;            // the time for on_ask does not count
    // Takes a part of the answer. An error: it is not what was asked for, so the worker is ended.
    std::function<Status(std::string_view body)> on_reply;
    // Gives the worker what it needs to go on. An error ends the worker, too. May be empty.
    std::function<Result<Message>(std::string_view body)> on_ask;
  };
  struct Outcome {
    enum class Kind {
      kAnswered,
      kNoAnswer,  // the task cannot; the worker goes on. In what follows it does not:
      kDied,
      kLate,       // the deadline
      kGarbage,    // it sent what it must not
      kCancelled,  // labelscope was told to stop
      kNoWorker,   // none can be started here
    };
    Kind kind = Kind::kAnswered;
    std::string why;  // a clause; empty for kAnswered
  };

  // `cancelled` is asked at least fifty times a second while there is a request; may be empty. Once
  // it is true, nobody waits for a worker that was killed: that may live for a moment longer.
  explicit Worker(Launcher launch, std::function<bool()> cancelled = {})
      : launch_(std::move(launch)), cancelled_(std::move(cancelled)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { end(); }

  // Starts the process and does not wait for it: labelscope can do something else meanwhile.
  void begin();
  Outcome ask(Request request);
  // The next request has another process.
  void end();

  bool is_running() const { return channel_.has_value(); }
  pid_t pid() const { return pid_; }
  // Which process this is: the first is 1. What a worker remembers is gone with the next one.
  unsigned generation() const { return generation_; }
  // What the worker could not give up here (seal.h); empty if all, or if there was none yet.
  const std::string& not_given_up() const { return not_given_up_; }

 private:
  using Kind = Outcome::Kind;
  std::optional<Outcome> start(std::uint64_t memory);
  std::optional<Outcome> wait_until_ready();
  Outcome converse(Request& request);
  Outcome died();
  // 0: it has not ended, or labelscope was told to stop. Less: somebody else has collected it.
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
  std::string unusable_;  // why no worker can be had
};

}  // namespace labelscope::cli
