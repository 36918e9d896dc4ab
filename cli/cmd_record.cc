// labelscope record, from top to bottom: look at the targets, open the files, sample, write, say
// how it went.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <set>
#include <string_view>

#include "bpf/load/kernel.h"
#include "cli/commands.h"
#include "cli/host/child.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/host/signals.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/record/messages.h"
#include "cli/record/no_sample.h"
#include "cli/record/recorder.h"
#include "cli/record/report.h"
#include "cli/record/samplers.h"
#include "cli/record/stack_ends.h"
#include "cli/report/outputs.h"
#include "cli/symbol/kernel_symbols.h"
#include "cli/symbol/symbolizer.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/saved_pointer.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// How long events may lie in the kernel's buffers: short enough to plan a new library before it
// matters, long enough that draining costs nothing.
constexpr std::chrono::milliseconds kDrainInterval{20};

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as in the samples

std::uint64_t nanoseconds_of(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options) {}

  int run();

 private:
  // The steps of run(), in this order. An error says all that there is to say; its code tells the
  // exit status, unless it comes from failure().
  Status find_targets();
  Status choose_sampler();
  Status open_outputs();
  Status give_up_rights();
  Status add_targets();
  Status record();
  Error failure(int status, std::string what);
  void announce() const;
  void announce_publishers();
  void warn_of_missing_variables() const;
  void watch_holds();
  bool targets_ended();
  void finish_profile();
  int report();
  int command_status();

  const RecordOptions& options_;
  Signals signals_;
  std::optional<Child> child_;
  std::vector<Pid> pids_;
  std::string comm_;  // of the first
  std::optional<int> exit_status_;
  std::size_t children_ = 0;  // of theirs, that exist already
  std::optional<Outputs> outputs_;
  OpenedSampler opened_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<Watchdog> watch_;  // while the targets' memory is read
  Profile profile_;
  std::vector<ModuleFile> files_;
  std::shared_future<Result<KernelSymbols>> kernel_symbols_;
  bool names_given_up_ = false;
  std::set<std::string> announced_;  // paths of publishers
  std::optional<std::uint64_t> announced_plans_;
  std::chrono::system_clock::time_point start_unix_;
  Clock::time_point start_;
  Clock::time_point end_;
};

void Recording::watch_holds() {
  Watchdog::Orders orders;
  // The recorder takes it over, and is there as long as the watch.
  orders.current_stop = [&sampler = *opened_.sampler] { return sampler.current_stop(); };
  orders.max_stop = options_.max_stop;
  orders.give_up = [](Watchdog::Reason reason, const std::string& why) {
    log::error(why + "; labelscope ends, and nothing was written");
    _exit(reason == Watchdog::Reason::kDeaf ? kExitGivenUp : kExitRuntimeError);
  };
  watch_.emplace(std::move(orders));
}

int Recording::run() {
  using Step = Status (Recording::*)();
  std::vector<Step> steps{&Recording::find_targets, &Recording::choose_sampler,
                          &Recording::open_outputs, &Recording::give_up_rights,
                          &Recording::add_targets,  &Recording::record};
  // The files are to be that user's, in folders where that user may write.
  if (options_.drop_to) std::swap(steps[2], steps[3]);
  for (const Step step : steps) {
    const Status done = (this->*step)();
    if (done) continue;
    log::error(done.error().context);
    return exit_status_.value_or(status_of(done.error()));
  }
  finish_profile();
  return report();
}

Error Recording::failure(int status, std::string what) {
  exit_status_ = status;
  return {ErrorCode::kSystem, std::move(what)};
}

Status Recording::find_targets() {
  pids_ = options_.pids;
  if (!options_.command.empty()) {
    auto child = Child::start(options_.command, &signals_);
    if (!child) return failure(kExitRuntimeError, child.error().context);
    child_.emplace(*std::move(child));
    pids_ = {child_->pid()};
    comm_ = base_name(options_.command.front());
  }
  for (Pid pid : pids_) {
    auto process = LiveProcess::open(pid);
    if (!process) return std::move(process).error();
    if (comm_.empty()) comm_ = (*process)->comm();
  }
  return {};
}

Status Recording::choose_sampler() {
  raise_file_limit();  // after the command was forked: it keeps the limit that it was given
  auto opened = open_sampler(options_, pids_);
  if (!opened) return std::move(opened).error();
  opened_ = *std::move(opened);
  return {};
}

// From here on, what targets say is read.
Status Recording::give_up_rights() {
  unsigned work = kReadsTargets;
  const bool bpf = opened_.backend == Backend::kBpf;
  if (!bpf || kSavedPointerLags) work |= kStopsThreads;
  if (bpf && options_.kernel_stacks) work |= kNamesKernel;
  const bool makes_maps = opened_.call_graph->value == LS_CALL_GRAPH_DWARF;
  if (bpf && (makes_maps || map_access_needs_capability())) work |= kUsesBpfMaps;
  if (child_) work |= kSignalsCommand;
  const auto can_name_outputs = [&] { return !outputs_ || outputs_->can_be_named(); };
  if (Status given_up = drop_rights(work, options_.drop_to, can_name_outputs); !given_up) {
    return given_up;
  }
  watch_holds();  // another thread, which has no more rights than this one
  return {};
}

Status Recording::open_outputs() {
  auto outputs =
      Outputs::open(options_.outputs, options_.format, options_.overwrite, pids_.front(), comm_);
  if (!outputs) {
    const std::string why = options_.drop_to
                                ? " (as " + options_.drop_to->name + ", who is named by --drop-to)"
                                : std::string();
    return failure(status_of_outputs(outputs.error()),
                   escape_terminal(outputs.error().context + why));
  }
  outputs_.emplace(*std::move(outputs));
  return {};
}

Status Recording::add_targets() {
  recorder_ = std::make_unique<Recorder>(
      std::move(opened_.sampler),
      Recorder::Options{.timed_samples = outputs_->timed_samples(),
                        .cpu_time = options_.mode == SampleMode::kCpu,
                        .period_ns = 1'000'000'000 / options_.frequency_hz,
                        .labels = options_.labels,
                        .process_labels = options_.unpublished.of_process,
                        .variables = options_.unpublished.variables});
  for (Pid pid : pids_) {
    Status status = child_ ? recorder_->add_before_exec(pid, open_program(options_.command.front()))
                           : recorder_->add(pid);
    if (status) continue;
    // What ptrace says explains itself. The kernel shows memory to the same processes.
    const bool refused =
        status.error().code == ErrorCode::kPermission && opened_.backend == Backend::kBpf;
    const Error why = refused ? StoppedThread::refusal(Tid{raw(pid)}) : status.error();
    return Error{why.code, escape_terminal(why.context)};
  }
  if (child_ || !options_.follow_children) return {};
  for (Pid pid : pids_) children_ += recorder_->add_children(pid);
  return {};
}

// What is recorded, and how.
void Recording::announce() const {
  if (!opened_.why_not_bpf.empty()) log::warning(fallback_text(opened_.why_not_bpf));
  if (opened_.remark_warns) {
    log::warning(opened_.remark);
  } else if (!opened_.remark.empty()) {
    log::verbose(opened_.remark);
  }
  std::string names;
  for (Pid pid : pids_) {
    if (!names.empty()) names += ", ";
    names += std::to_string(raw(pid));
    if (child_) continue;
    const TrackedProcess& process = *recorder_->processes().at(pid);
    names.append(" (").append(escape_terminal(process.comm())).append(")");
  }
  if (child_) names += " (" + escape_terminal(options_.command.front()) + ")";
  if (children_ > 0) {
    names += (pids_.size() > 1 ? " and their " : " and its ") +
             counted(children_, "child process", "child processes");
  }
  const std::string how = opened_.backend == Backend::kPtrace ? "ptrace, stopping threads" : "BPF";
  log::info("Recording " + names + " at " + std::to_string(options_.frequency_hz) + " Hz of " +
            std::string(recorder_->sampler().event_name()) + " by " + how +
            (options_.duration ? "" : ", until Ctrl-C or the end of the target"));
}

// Each file that publishes labels is told once: with the first process that has loaded it.
void Recording::announce_publishers() {
  if (announced_plans_ == recorder_->plans()) return;
  announced_plans_ = recorder_->plans();
  for (const auto& [pid, process] : recorder_->processes()) {
    bool fresh = false;
    for (const Publisher& publisher : process->plan().publishers) {
      fresh |= announced_.insert(publisher.path).second;
    }
    if (fresh) log::info("  " + describe_labels(*process));
  }
}

// Those that no process has: at the beginning, where it can be told.
void Recording::warn_of_missing_variables() const {
  for (std::size_t i = 0; i < options_.unpublished.variables.size(); ++i) {
    const VariableSeen seen = look_for_variable(*recorder_, i);
    if (seen.missing != nullptr && !seen.found) {
      log::warning(escape_terminal(options_.unpublished.missing_text(*seen.missing)));
    }
  }
}

Status Recording::record() {
  if (!child_) {
    announce();
    announce_publishers();
    warn_of_missing_variables();
  }
  if (Status status = recorder_->start(); !status) return status;
  start_unix_ = std::chrono::system_clock::now();
  start_ = Clock::now();
  if (child_) {
    if (int failed = child_->release(); failed != 0) {
      return failure(
          failed == ENOENT ? kExitCommandNotFound : kExitNotExecutable,
          "cannot run " + escape_terminal(options_.command.front()) + ": " + std::strerror(failed));
    }
    announce();
  }
  Progress progress(options_.messages.progress);
  bool ended = false;
  while (!ended) {
    signals_.poll();
    if (signals_.stop_requested()) break;
    const std::chrono::nanoseconds elapsed = Clock::now() - start_;
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
    // While there is time: at the end somebody would wait for them.
    if (recorder_->in_kernel() && !kernel_symbols_.valid()) {
      kernel_symbols_ = begin_reading_kernel_symbols();
    }
    if (announced_plans_ != recorder_->plans()) {
      progress.clear();
      announce_publishers();
    }
    progress.recording({elapsed, options_.duration, recorder_->samples(), recorder_->labelled(),
                        recorder_->dropped()});
  }
  end_ = Clock::now();
  progress.clear();
  // Without a sample, that is part of the answer (no_sample.h).
  if (ended && options_.duration && recorder_->samples() > 0) {
    const auto time = std::chrono::floor<std::chrono::milliseconds>(end_ - start_);
    log::info("The target ended after " + std::to_string(time.count()) + " ms");
  }
  if (Status status = recorder_->stop(); !status)
    log::error("reading samples failed: " + status.error().context);
  if (opened_.tables) opened_.tables->stop();
  announce_publishers();
  if (child_) warn_of_missing_variables();  // when it began, it had loaded nothing
  watch_.reset();
  return {};
}

bool Recording::targets_ended() {
  if (child_) return child_->ended().has_value();
  for (Pid pid : pids_) {
    // Any other error than these is no end: its first thread may have ended alone, and we may be
    // out of files.
    auto process = LiveProcess::open(pid);
    if (process || !is_gone(process.error())) return false;
  }
  return true;
}

void Recording::finish_profile() {
  // The kernel's own sum for a command and all its children, where all of them are to be sampled.
  const bool whole = child_ && options_.follow_children && options_.mode == SampleMode::kCpu;
  profile_ = recorder_->take_profile(files_, whole ? child_->time_ns().value_or(0) : 0);
  utsname system{};
  uname(&system);
  profile_.tool_version = LABELSCOPE_VERSION;
  profile_.backend = name_of(kBackends, opened_.backend);
  profile_.mode = name_of(kModes, options_.mode);
  profile_.period_ns = 1'000'000'000 / options_.frequency_hz;
  profile_.call_graph = opened_.call_graph->name;
  profile_.command_line = options_.command_line;
  profile_.kernel_release = system.release;
  profile_.start_unix_ns = nanoseconds_of(start_unix_.time_since_epoch());
  profile_.start_monotonic_ns = nanoseconds_of(start_.time_since_epoch());
  profile_.duration_ns = nanoseconds_of(end_ - start_);

  Progress progress(options_.messages.progress);
  SymbolizerOptions symbolizing;
  Precedence::own().start_again();
  // Ctrl-C now is about the names, whether or not one has ended the recording.
  const int stops_before = signals_.stops();
  symbolizing.cancelled = [this, stops_before] {
    Precedence::own().give_back_after(kMostNamingFirst);
    StoppedThread::settle();  // a thread that stops only now must not wait for names
    signals_.poll();
    return signals_.stops() > stops_before;
  };
  symbolizing.progress = [&](std::size_t done, std::size_t all) {
    progress.working("Naming addresses:", done, all);
  };
  symbolizing.kernel = kernel_symbols_;
  FileNamer namer({.debug_folders = options_.debug_folders,
                   .downloading = [&](const std::string& path, std::size_t done, std::size_t all) {
                     progress.fetching(path, done, all);
                   }});
  symbolize(profile_, files_, namer, symbolizing);
  if (!namer.not_given_up().empty()) {
    log::verbose("the process that looks at files could not give up all that it should: " +
                 namer.not_given_up());
  }
  count_stack_ends(profile_);
  names_given_up_ = signals_.stops() > stops_before;
  if (names_given_up_)
    log::warning("gave up naming addresses: the files hold numbers for the rest");
}

// The command's own status, waiting for it where it still runs.
int Recording::command_status() {
  if (!child_->ended()) {
    if (signals_.forwardable() != 0) ::kill(raw(child_->pid()), signals_.forwardable());
    log::info("The command goes on; waiting for it to end");
  }
  int forwarded = signals_.forwardable();
  while (!child_->ended()) {
    signals_.poll();
    if (signals_.give_up_requested()) return kExitGivenUp;
    StoppedThread::settle();  // nor the command for labelscope, which waits for it
    if (forwarded == 0 && signals_.forwardable() != 0) {
      forwarded = signals_.forwardable();
      ::kill(raw(child_->pid()), forwarded);
    }
    ::usleep(10'000);
  }
  return shell_status(*child_->ended());
}

int Recording::report() {
  RecordReport report(options_, profile_, *recorder_, opened_);
  if (profile_.ledger.written == 0) {
    report.say_problems();
    NoSample none;
    none.targets = pids_;
    none.ended = targets_ended();
    none.interrupted = signals_.stop_requested();
    none.command = child_.has_value();
    none.ran = std::chrono::nanoseconds(profile_.ledger.time.whole());
    none.duration = std::chrono::nanoseconds(profile_.duration_ns);
    none.frequency_hz = options_.frequency_hz;
    none.wall = options_.mode == SampleMode::kWall;
    none.ptrace = opened_.backend == Backend::kPtrace;
    none.bpf_helps = opened_.bpf_would_do;
    log::error("no sample was taken: " + why_no_sample(none) + ". No file was written");
    if (child_) return command_status();
    return targets_ended() ? kExitNoTarget : kExitNoSample;
  }
  signals_.begin_uninterrupted();
  const bool written = report.write_files(*outputs_);
  const bool shown = report.show_labels(*outputs_);
  signals_.end_uninterrupted();
  report.say_problems();
  report.say_files();
  const int status = child_ ? command_status() : kExitOk;
  report.say_ledger();
  if (!written || !shown) return kExitRuntimeError;
  return names_given_up_ ? kExitGivenUp : status;
}

}  // namespace

int run(const RecordOptions& options) { return Recording(options).run(); }

}  // namespace labelscope::cli
