#include "cli/record/targets.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "cli/host/child.h"
#include "cli/host/rights.h"
#include "cli/record/found_processes.h"
#include "cli/process/frozen_group.h"
#include "cli/record/recorder.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

std::string frozen_text(const FrozenGroup& group) {
  const std::string thaw = escape_terminal(group.thaw());
  return thaw.empty() ? "its control group does not let it run (docker unpause, or as it was frozen)"
                      : "its control group does not let it run (docker unpause, or " + thaw + ")";
}

// Explains why this process stands still; empty if it does not.
std::string standstill_of(Pid pid) {
  const auto process = LiveProcess::open(pid);
  if (!process) return {};
  const auto status = (*process)->read_proc("status");
  if (!status) return {};
  const std::string_view state = status_field(*status, "State");
  const std::string name = "process " + std::to_string(raw(pid));
  if (state.starts_with('T')) {
    return name + " is stopped (SIGSTOP, or Ctrl-Z): kill -CONT " + std::to_string(raw(pid)) +
           " lets it go on";
  }
  if (!state.starts_with('t')) {
    const auto frozen = frozen_group_of(pid);
    return frozen ? name + " is frozen: " + frozen_text(*frozen) : std::string();
  }
  const std::string_view tracer = status_field(*status, "TracerPid");
  return name + " is held by its tracer" +
         (tracer.empty() || tracer == "0" ? std::string()
                                          : ", process " + escape_terminal(tracer)) +
         ": let it go on there";
}

}  // namespace

// If ptrace was refused, its own answer is the reason. If BPF samples, ptrace still has the reason,
// because the kernel shows memory of the same processes to both.
Error why_not_added(Pid pid, Error error, Backend backend) {
  if (error.code == ErrorCode::kPermission && backend == Backend::kBpf) {
    error = StoppedThread::refusal(Tid{raw(pid)}, std::move(error));
  }
  return {error.code, escape_terminal(error.context)};
}

std::string base_name_of(std::string_view program, Pid pid) {
  return escape_file_name(program) + "-" + std::to_string(raw(pid));
}

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

Result<std::unique_ptr<Targets>> start_command(const SessionOptions& options,
                                               const Signals& signals) {
  auto child = Child::start(options.command, &signals);
  if (!child) return Error{ErrorCode::kSystem, std::move(child).error().context};
  return std::unique_ptr<Targets>(std::make_unique<Command>(
      *std::move(child), options.command.front(), options.follow_children));
}

}  // namespace

std::string Targets::standstill() const {
  for (Pid pid : first_) {
    if (std::string held = standstill_of(pid); !held.empty()) return held;
  }
  return {};
}

Result<std::unique_ptr<Targets>> find_targets(const SessionOptions& options, Signals& signals,
                                              const Say& say) {
  return options.command.empty() ? open_found_processes(options, signals, say)
                                 : start_command(options, signals);
}

}  // namespace labelscope::cli
