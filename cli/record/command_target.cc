#include "cli/record/command_target.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "cli/host/child.h"
#include "cli/record/recorder.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

class Command final : public Targets {
 public:
  Command(Child child, std::string command, bool admits_children)
      : Targets({child.pid()}, admits_children,
                base_name_of(labelscope::base_name(command), child.pid())),
        child_(std::move(child)),
        command_(std::move(command)) {}

  std::string names() const override {
    return std::to_string(raw(child_.pid())) + " (" + escape_terminal(command_) + ")";
  }
  bool is_command() const override { return true; }
  unsigned remaining_work() const override { return kSignalsCommand; }

  Status add_to(Recorder& recorder, Backend backend) override {
    Status added = recorder.add_before_exec(child_.pid(), open_program(command_));
    if (added) return {};
    return why_not_added(child_.pid(), std::move(added).error(), backend);
  }

  std::optional<NotStarted> release() override {
    const int failed = child_.release();
    if (failed == 0) return std::nullopt;
    return NotStarted{failed == ENOENT ? kExitCommandNotFound : kExitNotExecutable,
                      "cannot run " + escape_terminal(command_) + ": " + std::strerror(failed)};
  }

  bool ended() override { return child_.ended().has_value(); }
  std::uint64_t whole_time_ns() const override {
    return admits_children() ? child_.time_ns().value_or(0) : 0;
  }
  int exit_status(Signals& signals, const std::function<void()>& on_waiting, bool end) override;

 private:
  void forward(int signal) const {
    if (signal != 0) ::kill(raw(child_.pid()), signal);
  }

  Child child_;
  std::string command_;
};

int Command::exit_status(Signals& signals, const std::function<void()>& on_waiting, bool end) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kUntilKilled{5};
  int forwarded = signals.forwardable();
  if (child_.ended()) {
    end = false;  // it had its own end
  } else if (end) {
    forward(SIGTERM);
  } else {
    forward(forwarded);
    on_waiting();
  }
  const auto killed_at = Clock::now() + kUntilKilled;
  while (!child_.ended()) {
    signals.poll();
    if (signals.give_up_requested()) return kExitGivenUp;
    // If a thread of the command stops only now, it must be resumed here: labelscope waits for the
    // command.
    StoppedThread::settle();
    if (forwarded == 0) forward(forwarded = signals.forwardable());
    if (end && Clock::now() > killed_at) forward(SIGKILL);
    ::usleep(10'000);
  }
  if (end) return kExitOk;
  return shell_status(*child_.ended());
}

}  // namespace

Result<std::unique_ptr<Targets>> start_command(const SessionOptions& options,
                                               const Signals& signals) {
  auto child = Child::start(options.command, &signals);
  if (!child) return Error{ErrorCode::kSystem, std::move(child).error().context};
  return std::unique_ptr<Targets>(std::make_unique<Command>(
      *std::move(child), options.command.front(), options.follow_children));
}

}  // namespace labelscope::cli
