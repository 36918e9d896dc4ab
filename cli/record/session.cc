// The steps of a session, and how it goes on when one of them waits for ever.
#include "cli/record/session.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/record/found_processes.h"
#include "cli/record/privileges.h"

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

// Each process that does not answer takes ten seconds, in which no sample is taken out. After so
// many, the recording ends with what it has.
constexpr int kMostLeftOut = 8;

std::uint64_t nanoseconds_of(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

void give_up(Watchdog::Reason reason, const std::string& why) {
  log::error(why + "; labelscope ends, and nothing was written");
  end_process(reason == Watchdog::Reason::kDeaf ? kExitGivenUp : kExitRuntimeError);
}

}  // namespace

Session::Session(const SessionOptions& options, const WantedLabels& labels, Signals& signals,
                 SessionListener& listener, std::vector<Sink*> sinks)
    : options_(options),
      labels_(labels),
      signals_(signals),
      listener_(listener),
      sinks_(std::move(sinks)),
      naming_(options.function_names, signals) {}

// A refusal names the command that explains it.
Error Session::with_advice(Error error) const {
  if (error.code == ErrorCode::kPermission) {
    error.context += "\n  doctor   " + doctor_text(*targets_);
  }
  return error;
}

Status Session::prepare(const Say& say) {
  Status done = find(say);
  if (done) listener_.found();
  if (done) done = open_sampler();
  // With --drop-to what sinks open belongs to that user, in folders where that user may write.
  if (done && !options_.drop_to) done = begin_sinks();
  if (done) done = give_up_rights();
  if (done && options_.drop_to) done = begin_sinks();
  return done;
}

Status Session::begin_sinks() {
  for (Sink* sink : sinks_) {
    if (Status begun = sink->begin(targets_->base_name()); !begun) {
      exit_status_ = status_of_outputs(begun.error());
      return begun;
    }
  }
  return {};
}

Status Session::hand_out(const Window& window) {
  Status all;
  for (Sink* sink : sinks_) {
    if (Status taken = sink->take(window); !taken && all) all = std::move(taken);
  }
  return all;
}

Status Session::find(const Say& say) {
  // Each process that a name finds takes a descriptor. A command keeps the limit that it has.
  if (options_.command.empty()) raise_file_limit();
  // A process may let its own arguments hang, which are read to find it.
  Watchdog::Orders orders;
  orders.give_up = give_up;
  const Watchdog watch(std::move(orders));
  auto targets = find_targets(options_, signals_, say);
  if (!targets) return std::move(targets).error();
  targets_ = *std::move(targets);
  return {};
}

Status Session::open_sampler() {
  raise_file_limit();  // a command keeps the limit that it was forked with
  // Opening the sampler reads no memory of targets. But the kernel may take long to verify
  // programs, and to list mappings. The watch has a thread, and ends with this function, because
  // rights are given up by a process that has only one.
  Watchdog::Orders orders;
  orders.cause =
      "the kernel still loads the BPF programs, or does not list the mappings of a target";
  orders.give_up = give_up;
  const Watchdog watch(std::move(orders));
  auto opened = cli::open_sampler(options_, labels_, *targets_);
  if (!opened) return with_advice(std::move(opened).error());
  opened_ = *std::move(opened);
  return signals_.fd() < 0 ? Status() : opened_.sampler->wake_on(signals_.fd());
}

// This is the last step before hostile memory is read.
Status Session::give_up_rights() {
  const unsigned work = remaining_work(opened_, options_, *targets_);
  const auto can_name_outputs = [this] {
    return std::ranges::all_of(sinks_, [](const Sink* sink) { return sink->can_be_named(); });
  };
  if (Status given_up = drop_rights(work, options_.drop_to, can_name_outputs); !given_up) {
    return given_up;
  }
  if (opened_.backend == Backend::kPtrace) guardian_.start();
  // The worker has no more rights than this process, and neither has the watch's thread.
  if (opened_.tables) opened_.tables->begin();
  watch_holds();
  return {};
}

void Session::watch_holds() {
  Watchdog::Orders orders;
  // The recorder takes the sampler over, and lives as long as the watch.
  orders.current_stop = [&sampler = *opened_.sampler] { return sampler.current_stop(); };
  orders.max_stop = options_.max_stop;
  orders.go_on_without = [this](const StuckCall& call) { return go_on_without(call); };
  orders.give_up = give_up;
  watch_.emplace(std::move(orders));
}

// Called while `call` keeps a thread. If that is the one that works, it is left behind together
// with what it was reading.
bool Session::go_on_without(const StuckCall& call) {
  const std::string what = Watchdog::stuck_text(call);
  if (!reader_.is(call.tid)) {
    if (call.tid == ::getpid()) return false;
    // It makes tables, or finds names while it records. Nothing waits for it from now on.
    naming_.leave_early();
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
  const std::optional<std::string> left = leave_step();
  if (!left) return false;
  if (naming_.is_looking()) {
    has_stuck_ = true;
    naming_.leave_early();
  }
  left_.push_back(what + "; " + *left);
  log::warning(left_.back());
  reader_.replace();
  return true;
}

// Leaves what the step was reading. Returns what that is, as a clause; nothing if labelscope cannot
// go on.
std::optional<std::string> Session::leave_step() {
  const std::optional<Pid> busy = recorder_->busy_with();
  if (step_ == Step::kName) {
    naming_.give_up();
    step_ = Step::kReport;
    return "the rest of the addresses have no names";
  }
  if (step_ >= Step::kStop) {
    recorder_->leave_all();
    return "targets are not read any more";
  }
  if (busy && reader_.left_behind() < kMostLeftOut) {
    recorder_->leave_out(*busy);
    return "process " + std::to_string(raw(*busy)) + " is left out from now on";
  }
  if (is_joining_) {
    joins_ = false;
    return "processes that start from now on are not looked for";
  }
  if (step_ == Step::kAdd) return std::nullopt;
  recorder_->leave_all();
  step_ = Step::kStop;
  end_ = Clock::now();
  return "the recording ends here";
}

int Session::run(const std::function<int()>& work) {
  int status = kExitRuntimeError;
  try {
    status = reader_.run(work);
  } catch (const std::exception& error) {
    if (!is_stuck()) throw;
    log::error(std::string("it cannot go on (memory, or threads): ") + error.what());
  }
  if (!is_stuck() && !StuckThreads::may_wait_at_end()) return status;
  // No thread that waits for ever can be waited for, and no file be closed that may not answer.
  for (Sink* sink : sinks_) sink->abandon();
  std::fflush(nullptr);
  end_process(status);
}

Status Session::add(const ModulePresets& noticed) {
  if (step_ > Step::kAdd) return {};
  if (!recorder_) make_recorder(noticed);
  Status added = targets_->add_to(*recorder_, opened_.backend);
  if (!added) return with_advice(std::move(added).error());
  return {};
}

void Session::make_recorder(const ModulePresets& noticed) {
  std::size_t timed_samples = 0;
  for (const Sink* sink : sinks_) timed_samples = std::max(timed_samples, sink->timed_samples());
  recorder_ = std::make_unique<Recorder>(
      std::move(opened_.sampler),
      Recorder::Options{.timed_samples = timed_samples,
                        .kinds = kinds(),
                        .period_ns = 1'000'000'000 / options_.frequency_hz,
                        .labels = labels_.rules,
                        .process_labels = options_.unpublished.of_process,
                        .variables = options_.unpublished.variables,
                        .presets = options_.unpublished.presets,
                        .noticed = noticed,
                        .blame = options_.kept_for_blame(labels_)});
}

void Session::begin_time() {
  start_unix_ = std::chrono::system_clock::now();
  start_ = Clock::now();
}

Status Session::start() {
  if (step_ > Step::kStart) return {};
  step_ = Step::kStart;
  if (Status wanted = listener_.planned(); !wanted) return wanted;
  if (Status status = recorder_->start(); !status) return status;
  begin_time();
  if (const auto failed = targets_->release()) {
    exit_status_ = failed->exit_status;
    return Error{ErrorCode::kSystem, failed->why};
  }
  listener_.started();  // what somebody does from now on is recorded
  return {};
}

// Returns how long to wait for events; nothing if the time is over.
std::optional<std::chrono::milliseconds> Session::next_wait(std::chrono::nanoseconds elapsed,
                                                            bool calm) {
  const auto wait = calm ? kCalmInterval : kDrainInterval;
  if (!options_.duration) return wait;
  if (elapsed >= *options_.duration) return std::nullopt;
  return std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(*options_.duration - elapsed));
}

void Session::sample() {
  if (step_ > Step::kSample) return;
  step_ = Step::kSample;
  Clock::time_point next_look;
  while (!ended_) {
    signals_.poll();
    if (signals_.stop_requested()) break;
    if (targets_->awaited()) begin_time();
    const std::chrono::nanoseconds elapsed = Clock::now() - start_;
    // Ptrace announces nothing by itself.
    const bool calm =
        opened_.backend == Backend::kBpf && !targets_->awaited() && recorder_->is_calm();
    const auto wait = next_wait(elapsed, calm);
    if (!wait) break;
    is_joining_ = true;
    if (joins_) targets_->join(*recorder_);
    is_joining_ = false;
    if (!calm || Clock::now() >= next_look) {
      next_look = Clock::now() + kCalmLook;
      ended_ = targets_->ended();  // asked before draining, so that their last events are taken
    }
    if (Status status = recorder_->step(*wait); !status) {
      log::error("reading samples failed: " + status.error().context);
      break;
    }
    listener_.turned(elapsed);
    // Read them while there is time: at the end the user would wait for them.
    naming_.look_early(*recorder_);
  }
  end_ = Clock::now();
  listener_.sampled(end_ - start_);
}

Status Session::cut() {
  naming_.end_early();  // names of windows are kept with what they are names of
  auto window = recorder_->cut(files_);
  if (!window) return std::move(window).error();
  const std::uint64_t cut_ns = recorder_->sampler().span().cut_ns;
  end_ = cut_ns == 0 ? Clock::now() : Clock::time_point(std::chrono::nanoseconds(cut_ns));
  profile_ = *std::move(window);
  learn_names(options_.unpublished.named_ids, profile_);
  describe(profile_);
  cut_at_ = end_;
  listener_.taken(profile_);
  naming_.finish(profile_, files_);
  recorder_->keep_names(profile_);
  return {};
}

void Session::stop() {
  if (step_ > Step::kStop) return;
  step_ = Step::kStop;
  if (Status status = recorder_->stop(); !status)
    log::error("reading samples failed: " + status.error().context);
  naming_.look_early(*recorder_, true);  // of the last samples, beside what is left to do here
  if (opened_.tables) opened_.tables->stop();
  listener_.stopped();
}

void Session::take() {
  if (step_ > Step::kTake) return;
  step_ = Step::kTake;
  const bool cpu_time = kinds().front() == LS_ON_CPU;
  profile_ = recorder_->take_profile(files_, cpu_time ? targets_->whole_time_ns() : 0);
  learn_names(options_.unpublished.named_ids, profile_);
  describe(profile_);
  listener_.taken(profile_);
}

// Writes into the profile what was recorded, and how.
void Session::describe(Profile& profile) {
  utsname system{};
  uname(&system);
  profile.tool_version = LABELSCOPE_VERSION;
  profile.backend = name_of(kBackends, opened_.backend);
  profile.period_ns = 1'000'000'000 / options_.frequency_hz;
  profile.call_graph = opened_.call_graph->name;
  profile.command_line = options_.command_line;
  profile.kernel_release = system.release;
  std::uint64_t began_ns = nanoseconds_of(cut_at_.value_or(start_).time_since_epoch());
  std::uint64_t ended_ns = nanoseconds_of(end_.time_since_epoch());
  // Time began to count before the sampler's start returned, and ceased before its stop did.
  const Sampler::Span span = recorder_->sampler().span();
  if (span.began_ns != 0 && !cut_at_) began_ns = span.began_ns;
  if (span.ended_ns != 0) ended_ns = span.ended_ns;
  profile.start_unix_ns = nanoseconds_of(start_unix_.time_since_epoch()) + began_ns -
                          nanoseconds_of(start_.time_since_epoch());
  profile.start_monotonic_ns = began_ns;
  profile.duration_ns = ended_ns - began_ns;
  for (const std::string& left : left_) profile.remarks.push_back(left);
  for (const std::string& remark : recorder_->sampler().remarks()) {
    if (warned_.insert(remark).second) log::warning(remark);
    profile.remarks.push_back(remark);
  }
}

void Session::name(Progress& progress) {
  if (step_ > Step::kName) return;
  step_ = Step::kName;
  naming_.finish(profile_, files_, &progress);
}

}  // namespace labelscope::cli
