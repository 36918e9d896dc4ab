// labelscope record, from top to bottom: look at the targets, open the files, sample, write, say
// how it went.
#include "cli/cmd_record.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <optional>
#include <string_view>

#include "cli/exit_status.h"
#include "cli/format/escape.h"
#include "cli/format/summary.h"
#include "cli/log.h"
#include "cli/profile/telling_key.h"
#include "cli/record/child.h"
#include "cli/record/messages.h"
#include "cli/record/outputs.h"
#include "cli/record/privileges.h"
#include "cli/record/progress.h"
#include "cli/record/recorder.h"
#include "cli/record/signals.h"

namespace labelscope::cli {
namespace {

// How long events may lie in the kernel's buffers: short enough to plan a new library before it
// matters, long enough that draining costs nothing.
constexpr std::chrono::milliseconds kDrainInterval{20};

// The run ends here, with this status; what there is to say has been said.
struct Stop {
  int status;
};

[[noreturn]] void fail(int status, const std::string& message) {
  log::error(message);
  throw Stop{status};
}

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kPermission:
      return kExitPermission;
    case ErrorCode::kVanished:
    case ErrorCode::kNotFound:
      return kExitNoTarget;
    default:
      return kExitRuntimeError;
  }
}

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Files of modules are kept open: a thousand libraries must not be a reason to lose symbols.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool use_color(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0');
}

SummaryStyle style_for(ColorMode mode, int fd) {
  SummaryStyle style;
  style.color = use_color(mode, fd);
  style.unicode = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) style.width = size.ws_col;
  return style;
}

std::string file_size(std::uint64_t bytes) {
  return bytes < 10240 ? with_thousands(bytes) + " bytes" : with_thousands(bytes / 1024) + " KiB";
}

class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options) {}

  int run() {
    find_targets();
    raise_file_limit();  // after the command was forked: it keeps the limit that it was given
    open_recorder();
    record();
    finish_profile();
    return report();
  }

 private:
  void find_targets();
  void open_recorder();
  void record();
  bool targets_ended();
  void finish_profile();
  int report();
  void write_outputs();
  void print_summary();
  void explain_missing_labels();
  int command_status();
  std::string next_step() const;

  const RecordOptions& options_;
  Signals signals_;
  std::optional<Child> child_;
  std::vector<Pid> pids_;
  std::optional<Outputs> outputs_;
  std::unique_ptr<Recorder> recorder_;
  Profile profile_;
  std::vector<ModuleFile> files_;
  std::uint64_t start_unix_ns_ = 0;
  std::uint64_t start_monotonic_ns_ = 0;
  std::uint64_t end_monotonic_ns_ = 0;
};

void Recording::find_targets() {
  pids_ = options_.pids;
  std::string comm;
  if (!options_.command.empty()) {
    auto child = Child::start(options_.command, signals_);
    if (!child) fail(kExitRuntimeError, child.error().context);
    child_.emplace(*std::move(child));
    pids_ = {child_->pid()};
    std::size_t slash = options_.command.front().rfind('/');
    comm = options_.command.front().substr(slash == std::string::npos ? 0 : slash + 1);
  }
  for (Pid pid : pids_) {
    auto process = LiveProcess::open(pid);
    if (!process) fail(status_of(process.error()), process.error().context);
    if (comm.empty()) comm = (*process)->comm();
  }
  for (Pid pid : pids_) {
    if (auto missing = missing_privileges(pid)) fail(kExitPermission, *missing);
  }
  auto outputs =
      Outputs::open(options_.outputs, options_.format, options_.overwrite, pids_.front(), comm);
  if (!outputs) {
    bool usage = outputs.error().code == ErrorCode::kUnsupported;
    fail(usage ? kExitUsage : kExitRuntimeError, escape_terminal(outputs.error().context));
  }
  outputs_.emplace(*std::move(outputs));
}

void Recording::open_recorder() {
  SamplerOptions sampling;
  sampling.frequency_hz = options_.frequency_hz;
  sampling.user_stacks = options_.stacks;
  sampling.kernel_stacks = options_.kernel_stacks;
  sampling.follow_children = options_.follow_children;
  sampling.max_processes = options_.max_processes;
  sampling.ring_bytes = std::size_t{options_.ring_mib} << 20;
  auto recorder = Recorder::open(sampling, outputs_->keep_each_sample());
  if (!recorder) fail(status_of(recorder.error()), recorder.error().context);
  recorder_ = *std::move(recorder);
  for (Pid pid : pids_) {
    Status status = recorder_->add(pid);
    if (status) continue;
    std::string message = status.error().context;
    if (status.error().code == ErrorCode::kPermission) {
      message = "cannot look at process " + std::to_string(raw(pid)) + " (" + message +
                "): that needs CAP_SYS_PTRACE in its user namespace; try sudo, or give the "
                "container --cap-add SYS_PTRACE";
    }
    fail(status_of(status.error()), message);
  }
}

void Recording::record() {
  std::string names;
  for (const auto& [pid, process] : recorder_->processes()) {
    names += (names.empty() ? "" : ", ") + std::to_string(raw(pid));
    if (!child_) names += " (" + escape_terminal(process->comm()) + ")";
  }
  if (child_) names += " (" + escape_terminal(options_.command.front()) + ")";
  log::info("Recording " + names + " at " + std::to_string(options_.frequency_hz) + " Hz by " +
            std::string(recorder_->sampler().event_name()) +
            (options_.duration ? "" : ", until Ctrl-C or the end of the target"));
  if (!child_) {
    for (const auto& [pid, process] : recorder_->processes())
      log::info("  " + describe_labels(*process));
  }

  start_unix_ns_ = clock_ns(CLOCK_REALTIME);
  start_monotonic_ns_ = clock_ns(CLOCK_MONOTONIC);
  if (Status status = recorder_->start(); !status)
    fail(status_of(status.error()), status.error().context);
  if (child_) {
    if (int failed = child_->release(); failed != 0) {
      fail(
          failed == ENOENT ? kExitCommandNotFound : kExitNotExecutable,
          "cannot run " + escape_terminal(options_.command.front()) + ": " + std::strerror(failed));
    }
  }
  Progress progress(options_.progress);
  bool ended = false;
  while (!ended) {
    signals_.poll();
    if (signals_.stop_requested()) break;
    std::chrono::nanoseconds elapsed(clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_);
    auto wait = kDrainInterval;
    if (options_.duration) {
      if (elapsed >= *options_.duration) break;
      wait = std::min(wait,
                      std::chrono::ceil<std::chrono::milliseconds>(*options_.duration - elapsed));
    }
    ended = targets_ended();  // asked before draining, so that what they did last is taken
    if (Status status = recorder_->step(wait); !status) {
      log::error("reading samples failed: " + status.error().context);
      break;
    }
    progress.recording({elapsed, options_.duration, recorder_->samples(), recorder_->labelled(),
                        recorder_->dropped()});
  }
  end_monotonic_ns_ = clock_ns(CLOCK_MONOTONIC);
  if (Status status = recorder_->stop(); !status)
    log::error("reading samples failed: " + status.error().context);
}

bool Recording::targets_ended() {
  if (child_) return child_->ended().has_value();
  for (Pid pid : pids_) {
    // Any other error than these is no end: its first thread may have ended alone, and we may be
    // out of files.
    auto process = LiveProcess::open(pid);
    if (process || (process.error().code != ErrorCode::kVanished &&
                    process.error().code != ErrorCode::kNotFound)) {
      return false;
    }
  }
  return true;
}

void Recording::finish_profile() {
  profile_ = recorder_->take_profile(files_);
  utsname system{};
  uname(&system);
  profile_.tool_version = LABELSCOPE_VERSION;
  profile_.backend = "bpf";
  profile_.period_ns = 1'000'000'000 / options_.frequency_hz;
  profile_.call_graph = options_.stacks ? "fp" : "none";
  profile_.command_line = options_.command_line;
  profile_.kernel_release = system.release;
  profile_.start_unix_ns = start_unix_ns_;
  profile_.start_monotonic_ns = start_monotonic_ns_;
  profile_.duration_ns = end_monotonic_ns_ - start_monotonic_ns_;

  Progress progress(options_.progress);
  SymbolizerOptions symbolizing;
  symbolizing.cancelled = [&] {
    signals_.poll();
    return signals_.give_up_requested();
  };
  symbolizing.progress = [&](std::size_t done, std::size_t all) {
    progress.working("Naming addresses:", done, all);
  };
  symbolize(profile_, files_, symbolizing);
}

void Recording::write_outputs() {
  RenderOptions rendering;
  rendering.group_by = options_.group_by;
  std::vector<Error> errors;
  for (const WrittenFile& file : outputs_->write(profile_, rendering, errors)) {
    if (file.path == "-") continue;
    log::info("Wrote " + escape_terminal(file.path) + " (" + file_size(file.size) + ", " +
              std::string(format_name(file.format)) + ")");
  }
  for (const Error& error : errors) log::error(escape_terminal(error.context));
  if (!errors.empty()) throw Stop{kExitRuntimeError};
}

void Recording::print_summary() {
  bool stdout_taken = outputs_->take_stdout();
  if (!options_.summary.empty()) {
    int fd = stdout_taken ? STDERR_FILENO : STDOUT_FILENO;
    std::ostream& out = stdout_taken ? std::cerr : std::cout;
    Status status = render_summary(profile_, options_.summary, style_for(options_.color, fd), out);
    if (!status || !out.flush()) {
      log::error("writing the summary to stdout failed");
      throw Stop{kExitRuntimeError};
    }
  }
  if (options_.log_level == log::Level::kQuiet) return;
  // A stderr that cannot be written to has nobody to tell.
  static_cast<void>(
      render_label_keys(profile_, style_for(options_.color, STDERR_FILENO), std::cerr));
}

void Recording::explain_missing_labels() {
  if (profile_.ledger.outcomes[LS_LABELLED] > 0) return;
  constexpr int kMostProcesses = 5;
  int said = 0;
  for (const auto& [pid, process] : recorder_->processes()) {
    if (said++ == kMostProcesses) {
      log::info("  ... and so on for " + std::to_string(recorder_->processes().size()) +
                " processes");
      return;
    }
    if (process->publisher_paths().empty()) {
      log::info("No labels: " + describe_labels(*process));
    } else {
      log::info("No labels: " + describe_labels(*process) +
                "; but no thread that was sampled had set any");
    }
  }
}

// The command's own status, waiting for it where it still runs.
int Recording::command_status() {
  if (!child_->ended()) {
    if (signals_.forwardable() != 0) ::kill(raw(child_->pid()), signals_.forwardable());
    if (!signals_.stop_requested()) log::info("The command goes on; waiting for it to end");
  }
  int forwarded = signals_.forwardable();
  while (!child_->ended()) {
    signals_.poll();
    if (signals_.give_up_requested()) return kExitGivenUp;
    if (forwarded == 0 && signals_.forwardable() != 0) {
      forwarded = signals_.forwardable();
      ::kill(raw(child_->pid()), forwarded);
    }
    ::usleep(10'000);
  }
  return shell_status(*child_->ended());
}

// What to type next, for the end of the last line.
std::string Recording::next_step() const {
  const std::string* path = outputs_->pprof_path();
  if (path == nullptr) return {};
  std::string key = options_.summary.empty() ? telling_key(profile_) : options_.summary.front();
  // A key comes from the target, and this line is there to be pasted into a shell.
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@";
  if (key.find_first_not_of(kPlain) != std::string::npos) key.clear();
  return "; next: go tool pprof -top " + (key.empty() ? key : "-tagroot=" + key + " ") +
         escape_terminal(*path);
}

int Recording::report() {
  const Ledger& ledger = profile_.ledger;
  for (const std::string& line : ledger_problems(ledger)) log::warning(line);
  if (ledger.written == 0) {
    log::error("no sample was taken: the target did not run on a CPU in " +
               std::to_string(profile_.duration_ns / 1'000'000) + " ms at " +
               std::to_string(options_.frequency_hz) +
               " Hz; it was idle or waiting. No file was written");
    if (child_) return command_status();
    return targets_ended() ? kExitNoTarget : kExitNoSample;
  }
  explain_missing_labels();
  print_summary();
  write_outputs();
  int status = child_ ? command_status() : kExitOk;
  log::info(ledger_line(profile_) + next_step());
  if (signals_.give_up_requested()) return kExitGivenUp;
  return status;
}

}  // namespace

int run_record(const RecordOptions& options) {
  try {
    return Recording(options).run();
  } catch (const Stop& stop) {
    return stop.status;
  }
}

}  // namespace labelscope::cli
