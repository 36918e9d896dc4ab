// labelscope record, from top to bottom: finds the targets, opens the files, samples, writes, and
// reports how it went.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/format/common/ledger_text.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/replaceable_thread.h"
#include "cli/host/rights.h"
#include "cli/host/signals.h"
#include "cli/host/stop_guardian.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/preset/preset_offer.h"
#include "cli/record/messages.h"
#include "cli/record/privileges.h"
#include "cli/record/recorder.h"
#include "cli/record/report.h"
#include "cli/record/samplers.h"
#include "cli/record/stack_ends.h"
#include "cli/record/targets.h"
#include "cli/report/outputs.h"
#include "cli/symbol/kernel_symbols.h"
#include "cli/symbol/symbolizer.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// Events may lie this long in the kernel's buffers: short enough to plan a new library before it
// matters.
constexpr std::chrono::milliseconds kDrainInterval{20};
// While nothing but samples comes, it is this long. Each look wakes labelscope up on a processor
// that the target could use, which takes longer than to read the samples of 100 ms. What happens in
// a process ends the wait.
constexpr std::chrono::milliseconds kCalmInterval{100};
// Then processes are asked so often whether they have ended: their ends are announced, but an
// announcement may be lost.
constexpr std::chrono::milliseconds kCalmLook{500};

// Names of new addresses are asked for so often while it records: what is left at the end, the user
// waits for.
constexpr std::chrono::milliseconds kBetweenNaming{100};

// Each process that does not answer takes ten seconds, in which no sample is taken out. After so
// many, the recording ends with what it has.
constexpr int kMostLeftOut = 8;

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as in the samples

std::uint64_t nanoseconds_of(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

void give_up(Watchdog::Reason reason, const std::string& why) {
  log::error(why + "; labelscope ends, and nothing was written");
  end_process(reason == Watchdog::Reason::kDeaf ? kExitGivenUp : kExitRuntimeError);
}

class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options) {}

  int run();

 private:
  // Where the steps that read targets are. If one of them waits for ever, another thread goes on
  // there (host/replaceable_thread.h), so each can be called again.
  enum class Step { kAdd, kStart, kSample, kStop, kTake, kName, kReport };
  // The steps of run(), in this order. An error has the whole message, and its code decides the
  // exit status, unless failure() has set that.
  Status find();
  Status choose_sampler();
  Status open_outputs();
  Status give_up_rights();
  Status add_targets();
  void make_recorder();
  int go_on();
  Status start();
  Status sample();
  Status stop();
  bool go_on_without(const StuckCall& call);
  Error failure(int status, std::string what);
  Error with_advice(Error error) const;
  void begin_time();
  void announce() const;
  void announce_publishers();
  void offer_labels() const;
  Status look_for_variables();
  Status look_for_presets();
  void watch_holds();
  FileNamer& namer();
  void name_early();
  void take_profile();
  void name_addresses();
  bool is_stuck() const { return reader_.left_behind() != 0 || has_stuck_; }
  SampleKinds kinds() const { return mode_of(options_.mode).kinds(opened_.backend); }
  int exit_status();
  int report();

  const RecordOptions& options_;
  Signals signals_;
  std::unique_ptr<Targets> targets_;
  std::optional<int> exit_status_;
  std::optional<Outputs> outputs_;
  OpenedSampler opened_;
  ModulePresets offered_;  // presets that the user may not know of; empty if none are to be offered
  StopGuardian guardian_;
  std::unique_ptr<Recorder> recorder_;
  std::atomic<Step> step_ = Step::kAdd;
  ReplaceableThread reader_;  // takes the steps from kAdd on
  bool joins_ = true;         // looks for processes that have started since
  bool names_early_ = true;
  bool is_joining_ = false;
  bool is_naming_early_ = false;
  bool has_offered_ = false;
  std::vector<std::string> left_;  // what did not answer
  std::optional<Watchdog> watch_;  // watches while targets are read
  Profile profile_;
  std::vector<ModuleFile> files_;
  std::shared_future<Result<KernelSymbols>> kernel_symbols_;
  std::unique_ptr<FileNamer> namer_;
  std::optional<EarlyNames> early_names_;  // uses namer_
  Clock::time_point next_early_;
  Progress* naming_progress_ = nullptr;  // while addresses are named
  bool names_given_up_ = false;
  std::set<std::string> announced_;  // paths of publishers
  std::optional<std::uint64_t> announced_plans_;
  std::chrono::system_clock::time_point start_unix_;
  Clock::time_point start_;
  Clock::time_point end_;
  bool ended_ = false;                   // the targets have
  std::atomic<bool> has_stuck_ = false;  // another thread than the reader waits in a call
};

void Recording::watch_holds() {
  Watchdog::Orders orders;
  // The recorder takes the sampler over, and lives as long as the watch.
  orders.current_stop = [&sampler = *opened_.sampler] { return sampler.current_stop(); };
  orders.max_stop = options_.max_stop;
  orders.go_on_without = [this](const StuckCall& call) { return go_on_without(call); };
  orders.give_up = give_up;
  watch_.emplace(std::move(orders));
}

// Called while `call` keeps a thread. If that is the one that records, it is left behind together
// with what it was reading.
bool Recording::go_on_without(const StuckCall& call) {
  const std::string what = Watchdog::stuck_text(call);
  if (!reader_.is(call.tid)) {
    if (call.tid == ::getpid()) return false;
    // It makes tables, or finds names while it records. Nothing waits for it from now on.
    if (!has_stuck_.exchange(true)) {
      log::warning(what + "; stacks may end in that code, and names may be missing");
    }
    return true;
  }
  // What is being written is the user's own, and so is a program that is being executed.
  if (step_ == Step::kStart || step_ == Step::kReport) {
    log::warning(what);
    return true;
  }
  // Ptrace knows only the thread that has stopped a thread of the target.
  const bool can_go_on = opened_.backend == Backend::kBpf || step_ >= Step::kTake;
  if (!can_go_on || reader_.left_behind() == ReplaceableThread::kMost || !recorder_) return false;
  if (!reader_.leave_behind(call)) return true;
  const std::optional<Pid> busy = recorder_->busy_with();
  std::string left;
  if (step_ == Step::kName) {
    names_given_up_ = true;
    step_ = Step::kReport;
    left = "the rest of the addresses have no names";
  } else if (step_ >= Step::kStop) {
    recorder_->leave_all();
    left = "targets are not read any more";
  } else if (busy && reader_.left_behind() < kMostLeftOut) {
    recorder_->leave_out(*busy);
    left = "process " + std::to_string(raw(*busy)) + " is left out from now on";
  } else if (is_joining_) {
    joins_ = false;
    left = "processes that start from now on are not looked for";
  } else if (step_ == Step::kAdd) {
    return false;
  } else {
    recorder_->leave_all();
    step_ = Step::kStop;
    end_ = Clock::now();
    left = "the recording ends here";
  }
  if (is_naming_early_) {
    // What it does is done under a lock.
    has_stuck_ = true;
    names_early_ = false;
  }
  left_.push_back(what + "; " + left);
  log::warning(left_.back());
  reader_.replace();
  return true;
}

int Recording::run() {
  Status done = find();
  if (done) done = choose_sampler();
  // With --drop-to the files belong to that user, in folders where that user may write.
  if (done && !options_.drop_to) done = open_outputs();
  if (done) done = give_up_rights();
  if (done && options_.drop_to) done = open_outputs();
  if (!done) {
    log::error(done.error().context);
    return exit_status_.value_or(status_of(done.error()));
  }
  int status = kExitRuntimeError;
  try {
    status = reader_.run([this] { return go_on(); });
  } catch (const std::exception& error) {
    if (!is_stuck()) throw;
    log::error(std::string("it cannot go on (memory, or threads): ") + error.what());
  }
  if (!is_stuck() && !StuckThreads::may_wait_at_end()) return status;
  // No thread that waits for ever can be waited for, and no file be closed that may not answer.
  outputs_.reset();
  std::fflush(nullptr);
  end_process(status);
}

// Goes on at the step that is to be done next.
int Recording::go_on() {
  Status done;
  if (step_ == Step::kAdd) done = add_targets();
  if (done && step_ <= Step::kStart) done = start();
  if (done && step_ <= Step::kSample) done = sample();
  if (done && step_ <= Step::kStop) done = stop();
  if (!done) {
    log::error(done.error().context);
    return exit_status_.value_or(status_of(done.error()));
  }
  if (step_ <= Step::kTake) take_profile();
  if (step_ <= Step::kName) name_addresses();
  step_ = Step::kReport;
  const int status = report();
  const bool is_whole = (left_.empty() && !has_stuck_) || (status != kExitOk && !names_given_up_);
  return is_whole ? status : int{kExitRuntimeError};
}

Error Recording::failure(int status, std::string what) {
  exit_status_ = status;
  return {ErrorCode::kSystem, std::move(what)};
}

// A refusal names the command that explains it.
Error Recording::with_advice(Error error) const {
  if (error.code == ErrorCode::kPermission) {
    error.context += "\n  doctor   " + doctor_text(*targets_);
  }
  return error;
}

Status Recording::find() {
  // Each process that a name finds takes a descriptor. A command keeps the limit that it has.
  if (options_.command.empty()) raise_file_limit();
  // A process may let its own arguments hang, which are read to find it.
  Watchdog::Orders orders;
  orders.give_up = give_up;
  const Watchdog watch(std::move(orders));
  auto targets = find_targets(options_, signals_, log::info);
  if (!targets) return std::move(targets).error();
  targets_ = *std::move(targets);
  return {};
}

Status Recording::choose_sampler() {
  raise_file_limit();  // a command keeps the limit that it was forked with
  // Opening the sampler reads no memory of targets. But the kernel may take long to verify
  // programs, and to list mappings. The watch has a thread, and ends with this function, because
  // rights are given up by a process that has only one.
  Watchdog::Orders orders;
  orders.cause =
      "the kernel still loads the BPF programs, or does not list the mappings of a target";
  orders.give_up = give_up;
  const Watchdog watch(std::move(orders));
  auto opened = open_sampler(options_, *targets_);
  if (!opened) return with_advice(std::move(opened).error());
  opened_ = *std::move(opened);
  return signals_.fd() < 0 ? Status() : opened_.sampler->wake_on(signals_.fd());
}

// This is the last step before hostile memory is read, so it gives up rights.
Status Recording::give_up_rights() {
  const unsigned work = remaining_work(opened_, options_, *targets_);
  const auto can_name_outputs = [&] { return !outputs_ || outputs_->can_be_named(); };
  if (Status given_up = drop_rights(work, options_.drop_to, can_name_outputs); !given_up) {
    return given_up;
  }
  if (opened_.backend == Backend::kPtrace) guardian_.start();
  // The worker has no more rights than this process, and neither has the watch's thread.
  if (opened_.tables) opened_.tables->begin();
  watch_holds();
  return {};
}

Status Recording::open_outputs() {
  const UsersOwnRights own;
  auto outputs =
      Outputs::open(options_.outputs, options_.format, options_.overwrite, targets_->base_name());
  if (!outputs) {
    // In front, because the clause ends with what to do.
    const std::string who = options_.drop_to
                                ? "as " + options_.drop_to->name + ", whom --drop-to names: "
                                : std::string();
    return failure(status_of_outputs(outputs.error()),
                   escape_terminal(who + outputs.error().context));
  }
  outputs_.emplace(*std::move(outputs));
  return {};
}

Status Recording::add_targets() {
  if (!recorder_) make_recorder();
  Status added = targets_->add_to(*recorder_, opened_.backend);
  if (!added) return with_advice(std::move(added).error());
  return {};
}

void Recording::make_recorder() {
  const LabelOptions& wanted = options_.unpublished;
  if (wanted.presets.empty() && wanted.variables.empty() && !targets_->is_command()) {
    offered_ = offered_presets();
  }
  recorder_ = std::make_unique<Recorder>(
      std::move(opened_.sampler),
      Recorder::Options{.timed_samples = outputs_->timed_samples(),
                        .kinds = kinds(),
                        .period_ns = 1'000'000'000 / options_.frequency_hz,
                        .labels = options_.labels,
                        .process_labels = options_.unpublished.of_process,
                        .variables = options_.unpublished.variables,
                        .presets = options_.unpublished.presets,
                        .noticed = offered_,
                        .blame = options_.kept_for_blame()});
}

// Announces what is recorded, and how.
void Recording::announce() const {
  if (!opened_.why_not_bpf.empty()) log::warning(fallback_text(opened_.why_not_bpf));
  if (opened_.remark_warns) {
    log::warning(opened_.remark);
  } else if (!opened_.remark.empty()) {
    log::verbose(opened_.remark);
  }
  const std::string how = opened_.backend == Backend::kPtrace ? "ptrace, stopping threads" : "BPF";
  log::info("Recording " + targets_->names() + " at " + std::to_string(options_.frequency_hz) +
            " Hz of " + std::string(recorder_->sampler().event_name()) + " by " + how +
            (options_.duration ? "" : ", until Ctrl-C or the end of the target"));
}

// Announces each file that publishes labels once, with the first process that has loaded it.
void Recording::announce_publishers() {
  if (announced_plans_ == recorder_->plans()) return;
  announced_plans_ = recorder_->plans();
  for (const auto& [key, process] : recorder_->processes()) {
    bool fresh = false;
    for (const Publisher& publisher : process->plan().publishers) {
      fresh |= announced_.insert(publisher.path).second;
    }
    if (fresh) log::info("  " + describe_labels(*process));
  }
}

// Who records a server that publishes no labels may not know that a preset reads some.
void Recording::offer_labels() const {
  if (offered_.empty()) return;
  std::vector<Pid> fitting;
  std::vector<Pid> others;
  for (const auto& [key, process] : recorder_->processes()) {
    if (process->publishes()) return;
    (process->plan().notices_preset ? fitting : others).push_back(key.pid);
  }
  std::ranges::copy(of_preset_programs(others, offered_), std::back_inserter(fitting));
  const std::string offer = offer_presets(fitting, offered_);
  if (!offer.empty()) log::info("  " + offer);
}

void Recording::begin_time() {
  start_unix_ = std::chrono::system_clock::now();
  start_ = Clock::now();
}

// Ends the recording at its beginning if no process has a variable that the user has named, since
// a recording without the label that it is made for is of no use. But a file that is named with the
// variable may be loaded later.
Status Recording::look_for_variables() {
  for (std::size_t i = 0; i < options_.unpublished.variables.size(); ++i) {
    const VariableSeen& seen = recorder_->variable_seen(i);
    if (!seen.missing || seen.found) continue;
    const std::string what = escape_terminal(options_.unpublished.missing_text(*seen.missing));
    if (!targets_->is_command() && options_.unpublished.variables[i].module.empty()) {
      return failure(kExitRuntimeError, what);
    }
    log::warning(what);
  }
  return {};
}

// The same for presets. With --preset auto one that fits is enough.
Status Recording::look_for_presets() {
  const LabelOptions& wanted = options_.unpublished;
  std::string what;
  bool found = false;
  for (std::size_t i = 0; i < wanted.presets.size(); ++i) {
    const PresetSeen& seen = recorder_->preset_seen(i);
    found |= seen.found;
    if (!seen.missing || seen.found || wanted.any_preset) continue;
    what = escape_terminal(wanted.missing_text(*seen.missing));
    if (targets_->is_command()) log::warning(what);
  }
  if (wanted.any_preset && !found) {
    what = "--preset auto: " + escape_terminal(wanted.no_preset_text());
    if (targets_->is_command()) log::warning(what);
  }
  if (what.empty() || targets_->is_command()) return {};
  return failure(kExitRuntimeError, what);
}

Status Recording::start() {
  step_ = Step::kStart;
  if (!targets_->is_command()) {
    if (Status found = look_for_variables(); !found) return found;
    if (Status found = look_for_presets(); !found) return found;
  }
  if (Status status = recorder_->start(); !status) return status;
  begin_time();
  if (const auto failed = targets_->release()) return failure(failed->exit_status, failed->why);
  announce();  // what somebody does from now on is recorded
  if (!targets_->is_command()) {
    announce_publishers();
  }
  return {};
}

Status Recording::sample() {
  step_ = Step::kSample;
  has_offered_ |= targets_->is_command();
  Progress progress(options_.messages.progress);
  Clock::time_point next_look;
  bool& ended = ended_;
  while (!ended) {
    signals_.poll();
    if (signals_.stop_requested()) break;
    if (targets_->awaited()) begin_time();
    const std::chrono::nanoseconds elapsed = Clock::now() - start_;
    // Ptrace announces nothing by itself.
    const bool calm =
        opened_.backend == Backend::kBpf && !targets_->awaited() && !ended && recorder_->is_calm();
    auto wait = calm ? kCalmInterval : kDrainInterval;
    if (options_.duration) {
      if (elapsed >= *options_.duration) break;
      wait = std::min(wait,
                      std::chrono::ceil<std::chrono::milliseconds>(*options_.duration - elapsed));
    }
    is_joining_ = true;
    if (joins_) targets_->join(*recorder_);
    is_joining_ = false;
    if (!calm || Clock::now() >= next_look) {
      next_look = Clock::now() + kCalmLook;
      ended = targets_->ended();  // asked before draining, so that their last events are taken
    }
    if (Status status = recorder_->step(wait); !status) {
      log::error("reading samples failed: " + status.error().context);
      break;
    }
    // This reads labels of processes, and samples come first.
    if (!std::exchange(has_offered_, true)) offer_labels();
    // Read them while there is time: at the end the user would wait for them.
    if (recorder_->in_kernel() && !kernel_symbols_.valid()) {
      kernel_symbols_ = begin_reading_kernel_symbols();
    }
    if (announced_plans_ != recorder_->plans()) {
      progress.clear();
      announce_publishers();
    }
    name_early();
    progress.recording([&] {
      return Progress::State{elapsed, options_.duration, recorder_->samples(),
                             recorder_->labelled(), recorder_->dropped()};
    });
  }
  end_ = Clock::now();
  progress.clear();
  // If there is no sample, the explanation includes this (messages.h).
  if (ended && options_.duration && recorder_->samples() > 0) {
    const auto time = std::chrono::floor<std::chrono::milliseconds>(end_ - start_);
    log::info("The target ended after " + std::to_string(time.count()) + " ms");
  }
  return {};
}

Status Recording::stop() {
  step_ = Step::kStop;
  if (Status status = recorder_->stop(); !status)
    log::error("reading samples failed: " + status.error().context);
  next_early_ = {};
  name_early();  // of the last samples, beside what is left to do here
  if (opened_.tables) opened_.tables->stop();
  announce_publishers();
  // When it began, the command had loaded nothing.
  if (targets_->is_command()) {
    static_cast<void>(look_for_variables());
    static_cast<void>(look_for_presets());
  }
  return {};
}

FileNamer& Recording::namer() {
  if (!namer_) {
    namer_ = std::make_unique<FileNamer>(FileNamer::Options{
        .debug_folders = options_.function_names.debug_folders,
        .debug_information = options_.function_names.debug_information,
        .downloading = [this](const std::string& path, std::size_t done, std::size_t all) {
          if (naming_progress_ != nullptr) naming_progress_->fetching(path, done, all);
        }});
  }
  return *namer_;
}

// Has names of new addresses found while it records.
void Recording::name_early() {
  const auto now = Clock::now();
  if (!names_early_ || recorder_->samples() == 0 || now < next_early_) return;
  next_early_ = now + kBetweenNaming;
  is_naming_early_ = true;
  if (!early_names_) early_names_.emplace(namer());
  recorder_->show_locations(*early_names_);
  is_naming_early_ = false;
}

void Recording::take_profile() {
  step_ = Step::kTake;
  const bool cpu_time = kinds().front() == LS_ON_CPU;
  profile_ = recorder_->take_profile(files_, cpu_time ? targets_->whole_time_ns() : 0);
  learn_names(options_.unpublished.named_ids, profile_);
  cap_values(options_.caps, profile_);
  utsname system{};
  uname(&system);
  profile_.tool_version = LABELSCOPE_VERSION;
  profile_.backend = name_of(kBackends, opened_.backend);
  profile_.period_ns = 1'000'000'000 / options_.frequency_hz;
  profile_.call_graph = opened_.call_graph->name;
  profile_.command_line = options_.command_line;
  profile_.kernel_release = system.release;
  profile_.start_unix_ns = nanoseconds_of(start_unix_.time_since_epoch());
  profile_.start_monotonic_ns = nanoseconds_of(start_.time_since_epoch());
  profile_.duration_ns = nanoseconds_of(end_ - start_);
  if (const auto span = recorder_->sampler().span(); span.ended_ns != 0) {
    // Time began to count before the sampler's start returned, and ceased before its stop did.
    profile_.start_unix_ns -= profile_.start_monotonic_ns - span.began_ns;
    profile_.start_monotonic_ns = span.began_ns;
    profile_.duration_ns = span.ended_ns - span.began_ns;
  }
  for (const std::string& left : left_) profile_.remarks.push_back(left);
  for (const std::string& remark : recorder_->sampler().remarks()) {
    log::warning(remark);
    profile_.remarks.push_back(remark);
  }
}

void Recording::name_addresses() {
  step_ = Step::kName;
  Progress progress(options_.messages.progress);
  SymbolizerOptions symbolizing;
  Precedence::own().start_again();
  // From now on Ctrl-C ends the naming, even if one has ended the recording before.
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
  if (has_stuck_) {
    // The thread that finds names may be the one that waits, and has the namer. Both stay.
    static_cast<void>(namer_.release());
  } else if (early_names_) {
    early_names_->finish(symbolizing.cancelled);
    symbolizing.early = &*early_names_;
    log::verbose("names of " + with_thousands(early_names_->named()) +
                 " addresses were found while it recorded");
  }
  naming_progress_ = &progress;
  symbolize(profile_, files_, namer(), symbolizing);
  naming_progress_ = nullptr;
  if (!namer().not_given_up().empty()) {
    log::verbose("the process that looks at files could not give up all that it should: " +
                 namer().not_given_up());
  }
  names_given_up_ = signals_.stops() > stops_before;
  if (names_given_up_)
    log::warning("gave up naming addresses: the files hold numbers for the rest");
}

int Recording::exit_status() {
  const auto say_waiting = [] {
    log::info(
        "The command goes on; waiting for it to end (--end-command ends it when the time is over)");
  };
  return targets_->exit_status(signals_, say_waiting, options_.end_command);
}

int Recording::report() {
  count_stack_ends(profile_);
  RecordReport report(options_, profile_, *recorder_, opened_);
  if (profile_.ledger.written == 0) {
    report.say_problems();
    NoSample none;
    none.standstill = targets_->standstill();
    none.ended = targets_->ended() || targets_->awaited();
    none.interrupted = signals_.stop_requested();
    none.command = targets_->is_command();
    none.ran = std::chrono::nanoseconds(profile_.ledger.time.whole());
    none.duration = std::chrono::nanoseconds(profile_.duration_ns);
    none.frequency_hz = options_.frequency_hz;
    none.wall = options_.mode == SampleMode::kWall;
    none.off_cpu = options_.mode == SampleMode::kOffCpu;
    none.ptrace = opened_.backend == Backend::kPtrace;
    none.bpf_helps = opened_.bpf_would_do;
    log::error("no sample was taken: " + why_no_sample(none) + ". No file was written");
    if (targets_->is_command()) return exit_status();
    return none.ended ? kExitNoTarget : kExitNoSample;
  }
  if (!options_.where.empty()) {
    Selection selection;
    selection.conditions = options_.where;
    if (auto selected = select(profile_, selection); !selected) {
      log::error(selected.error().context);
      return kExitRuntimeError;
    }
    if (profile_.rows.empty()) {
      report.say_problems();
      log::error("no sample meets the condition of --where. No file was written");
      const int status = exit_status();
      return targets_->is_command() ? status : kExitNoSample;
    }
  }
  signals_.begin_uninterrupted();
  const bool written = report.write_files(*outputs_);
  const bool shown = report.show_labels(*outputs_);
  signals_.end_uninterrupted();
  report.say_problems();
  report.say_files();
  const int status = exit_status();
  report.say_ledger();
  if (!written || !shown) return kExitRuntimeError;
  // What was left out, or given up, has a status of its own, and makes accounts differ.
  const bool is_whole =
      left_.empty() && !has_stuck_ && !names_given_up_ && options_.where.empty();
  if (options_.strict && is_whole && !account_problems(profile_).empty()) return kExitAccount;
  return names_given_up_ ? kExitGivenUp : status;
}

}  // namespace

int run(const RecordOptions& options) { return Recording(options).run(); }

}  // namespace labelscope::cli
