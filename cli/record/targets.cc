#include "cli/record/targets.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "cli/host/child.h"
#include "cli/host/rights.h"
#include "cli/record/privileges.h"
#include "cli/record/recorder.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

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
  if (!state.starts_with('t')) return {};
  const std::string_view tracer = status_field(*status, "TracerPid");
  return name + " is held by its tracer" +
         (tracer.empty() || tracer == "0" ? std::string()
                                          : ", process " + escape_terminal(tracer)) +
         ": let it go on there";
}

// The reason why a process could not be added. If ptrace was refused, its own answer is the reason.
// If BPF samples, ptrace still has the reason, because the kernel shows memory of the same
// processes to both.
Error why_not_added(Pid pid, Error error, Backend backend) {
  if (error.code == ErrorCode::kPermission && backend == Backend::kBpf) {
    error = StoppedThread::refusal(Tid{raw(pid)}, std::move(error));
  }
  std::string text = escape_terminal(error.context);
  if (error.code == ErrorCode::kPermission) text += "; " + doctor_text(pid);
  return {error.code, std::move(text)};
}

std::string base_name_of(std::string_view program, Pid pid) {
  return escape_file_name(program) + "-" + std::to_string(raw(pid));
}

std::string file_name_of(const TargetName& name) {
  switch (name.by) {
    case NamedBy::kPort:
      return "port-" + name.word;
    case NamedBy::kCgroup:
      return escape_file_name(base_name(name.word));
    default:
      return escape_file_name(name.word);
  }
}

// How messages and files name the processes that were found.
struct NamedProcesses {
  std::vector<Pid> pids;  // each once
  std::vector<std::string> comms;
  std::string base_name;
  std::string asked;  // "-p nginx (3 processes)"; empty: all are named by ID
  std::optional<ProcessFinder> finder;
};

class Processes final : public Targets {
 public:
  Processes(NamedProcesses named, bool admits_children)
      : Targets(named.pids, admits_children, named.base_name), named_(std::move(named)) {}

  std::string names() const override {
    std::string text = named_.asked.empty() ? "" : named_.asked + ": ";
    const std::size_t shown =
        named_.asked.empty() ? first().size() : std::min(first().size(), kMostListed);
    for (std::size_t i = 0; i < shown; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(raw(first()[i])) + " (" +
              escape_terminal(named_.comms[i]) + ")";
    }
    if (shown < first().size()) text += " and " + std::to_string(first().size() - shown) + " more";
    if (left_out_ != 0) {
      text += " (without " + std::to_string(left_out_) + " of them: " + why_left_out_ + ")";
    }
    if (children_ == 0) return text;
    return text + (first().size() > 1 ? " and their " : " and its ") +
           counted(children_, "child process", "child processes");
  }

  // A process that is named by its ID must be recorded. Of those that a name has found, some may
  // have ended since, or may not be looked at.
  Status add_to(Recorder& recorder, Backend backend) override {
    for (Pid pid : first()) {
      Status added = recorder.add(pid);
      if (added) continue;
      Error why = why_not_added(pid, std::move(added).error(), backend);
      if (named_.asked.empty() || left_out_ + 1 == first().size()) return why;
      if (left_out_++ == 0) why_left_out_ = why.context;
    }
    if (!admits_children()) return {};
    for (Pid pid : first()) children_ += recorder.add_children(pid);
    return {};
  }

  void join(Recorder& recorder) override {
    if (!named_.finder || Clock::now() < next_look_) return;
    next_look_ = Clock::now() + kLookInterval;
    for (Pid pid : named_.finder->find_new()) {
      joined_.push_back(pid);
      // As a child of a recorded process it is recorded already.
      if (!recorder.processes().contains(pid) && !recorder.add_counted(pid)) continue;
      if (admits_children()) recorder.add_children(pid);
    }
  }

  bool ended() override {
    const auto has_ended = [](Pid pid) {
      // Any other error does not mean that it has ended: its first thread may have ended alone, and
      // labelscope may be out of files.
      const auto process = LiveProcess::open(pid);
      return !process && is_gone(process.error());
    };
    std::erase_if(joined_, has_ended);
    return joined_.empty() && std::ranges::all_of(first(), has_ended);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostListed = 8;
  static constexpr std::chrono::milliseconds kLookInterval{200};

  NamedProcesses named_;      // comms are parallel to first()
  std::size_t children_ = 0;  // number of children that existed already
  std::size_t left_out_ = 0;
  std::string why_left_out_;
  Clock::time_point next_look_{};
  std::vector<Pid> joined_;  // those that have not ended
};

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
  int exit_status(Signals& signals, const std::function<void()>& on_waiting) override;

 private:
  void forward(int signal) const {
    if (signal != 0) ::kill(raw(child_.pid()), signal);
  }

  Child child_;
  std::string command_;
};

int Command::exit_status(Signals& signals, const std::function<void()>& on_waiting) {
  int forwarded = signals.forwardable();
  if (!child_.ended()) {
    forward(forwarded);
    on_waiting();
  }
  while (!child_.ended()) {
    signals.poll();
    if (signals.give_up_requested()) return kExitGivenUp;
    // If a thread of the command stops only now, it must be resumed here: labelscope waits for the
    // command.
    StoppedThread::settle();
    if (forwarded == 0) forward(forwarded = signals.forwardable());
    ::usleep(10'000);
  }
  return shell_status(*child_.ended());
}

// Adds the processes that the words find to those that are named by ID.
Status find_named(const std::vector<TargetName>& names, Signals& signals, const Say& say,
                  NamedProcesses& named) {
  say_waiting(names, say);
  named.finder.emplace(names);
  auto matches = named.finder->find([&signals] {
    signals.poll();
    return signals.stop_requested();
  });
  if (!matches) return std::move(matches).error();
  for (const Match& match : *matches) {
    named.asked += (named.asked.empty() ? "" : ", ") + match.name.typed() + " (" +
                   counted(match.pids.size(), "process", "processes") + ")";
    for (Pid pid : match.pids) {
      if (std::ranges::find(named.pids, pid) == named.pids.end()) named.pids.push_back(pid);
    }
  }
  if (!named.base_name.empty()) return {};
  named.base_name = file_name_of(names.front());
  if (names.size() > 1) named.base_name += "-and-" + std::to_string(names.size() - 1) + "-more";
  return {};
}

Result<std::unique_ptr<Targets>> open_processes(const RecordOptions& options, Signals& signals,
                                                const Say& say) {
  NamedProcesses named;
  named.pids = options.wanted.processes.pids;
  for (Pid pid : named.pids) {
    auto process = LiveProcess::open(pid);
    if (!process) return std::move(process).error();
    if (named.base_name.empty()) named.base_name = base_name_of((*process)->comm(), pid);
  }
  if (const std::vector<TargetName> names = options.wanted.names(); !names.empty()) {
    if (Status found = find_named(names, signals, say, named); !found)
      return std::move(found).error();
  }
  for (Pid pid : named.pids)
    named.comms.push_back(read_proc_line(proc_path(Tid{raw(pid)}, "comm")));
  return std::unique_ptr<Targets>(
      std::make_unique<Processes>(std::move(named), options.follow_children));
}

Result<std::unique_ptr<Targets>> start_command(const RecordOptions& options,
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

Result<std::unique_ptr<Targets>> find_targets(const RecordOptions& options, Signals& signals,
                                              const Say& say) {
  return options.command.empty() ? open_processes(options, signals, say)
                                 : start_command(options, signals);
}

}  // namespace labelscope::cli
