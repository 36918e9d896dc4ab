// A session samples processes, from the words that name them to a Profile. It has no output of its
// own: a command decides what becomes of what was sampled, and what the user reads meanwhile.
//
//   prepare()                           run( add()   start()   sample()   stop()   take()  name() )
//   ---------------------------------------------------------------------------------------------
//   finds the targets, opens the        reads hostile memory: on a thread that is left behind if
//   sampler, begins the sinks, and      it waits for ever. Then another one calls the same steps,
//   gives up the rights for all that    and each does what is left of it.
//
// A step that fails returns an error with the whole message. exit_status() is the status for it
// where its code does not decide that.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/host/replaceable_thread.h"
#include "cli/host/signals.h"
#include "cli/host/stop_guardian.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/options/session_options.h"
#include "cli/process/find_processes.h"
#include "cli/record/naming.h"
#include "cli/record/recorder.h"
#include "cli/record/samplers.h"
#include "cli/record/sink.h"
#include "cli/record/targets.h"

namespace labelscope::cli {

// What a command does at the steps of its session, each time that one is done. If a thread is left
// behind in one of these calls, the call is not repeated.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // The targets are found.
  virtual void found() {}
  // The targets are planned, and nothing is sampled yet. A failure ends the session.
  virtual Status planned() { return {}; }
  virtual void started() {}
  // Again and again while it samples, with the time that has passed.
  virtual void turned(std::chrono::nanoseconds /*elapsed*/) {}
  // No more turns come, after so much time.
  virtual void sampled(std::chrono::nanoseconds /*time*/) {}
  virtual void stopped() {}
  // It has no names yet.
  virtual void taken(Profile& /*profile*/) {}
};

class Session {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as in the samples

  // All of them must outlive it.
  Session(const SessionOptions& options, const WantedLabels& labels, Signals& signals,
          SessionListener& listener, std::vector<Sink*> sinks);

  // `say` takes a line for the user before it waits for a target.
  Status prepare(const Say& say);

  // Calls `work` on a thread of its own, and returns what it returns. If that thread waits for ever
  // in what belongs to a target, `work` is called again, on another one. It calls the steps below.
  // Does not return if a thread waits still: labelscope ends then.
  int run(const std::function<int()>& work);
  // Plans the targets. `noticed`: presets that the user may not know of.
  Status add(const ModulePresets& noticed);
  Status start();
  // Samples until the end of the targets or of the time, or a signal.
  void sample();
  // Between two turns: makes the profile of what was sampled since the last cut, with names, and
  // goes on. Fails with kUnsupported where only one window is possible.
  Status cut();
  void stop();
  // Makes the profile of what was sampled, and names its addresses.
  void take();
  void name(Progress& progress);
  // What comes now reads no targets: it is never left.
  void begin_report() { step_ = Step::kReport; }
  // Gives the window to each sink. Fails with the first error, when all have had it.
  Status hand_out(const Window& window);

  const SessionOptions& options() const { return options_; }
  std::optional<int> exit_status() const { return exit_status_; }
  Targets& targets() { return *targets_; }
  const Targets& targets() const { return *targets_; }
  const OpenedSampler& opened() const { return opened_; }
  const Recorder& recorder() const { return *recorder_; }
  // After take() or cut().
  Profile& profile() { return profile_; }
  const Naming& naming() const { return naming_; }
  // Returns whether the targets have ended.
  bool ended() const { return ended_; }
  // Returns whether nothing was left out because it did not answer.
  bool is_whole() const { return left_.empty() && !has_stuck_; }

 private:
  // Where the steps that read targets are.
  enum class Step { kAdd, kStart, kSample, kStop, kTake, kName, kReport };
  bool go_on_without(const StuckCall& call);
  std::optional<std::string> leave_step();
  Error with_advice(Error error) const;
  Status find(const Say& say);
  Status open_sampler();
  Status begin_sinks();
  Status give_up_rights();
  void make_recorder(const ModulePresets& noticed);
  SampleKinds kinds() const { return kinds_of(mode_of(options_.mode), opened_.backend); }
  void begin_time();
  void watch_holds();
  std::optional<std::chrono::milliseconds> next_wait(std::chrono::nanoseconds elapsed, bool calm);
  void describe(Profile& profile);
  bool is_stuck() const { return reader_.left_behind() != 0 || has_stuck_; }

  const SessionOptions& options_;
  WantedLabels labels_;
  Signals& signals_;
  SessionListener& listener_;
  std::vector<Sink*> sinks_;
  std::optional<int> exit_status_;
  std::unique_ptr<Targets> targets_;
  OpenedSampler opened_;
  StopGuardian guardian_;
  std::unique_ptr<Recorder> recorder_;
  std::atomic<Step> step_ = Step::kAdd;
  ReplaceableThread reader_;  // takes the steps from kAdd on
  bool joins_ = true;         // looks for processes that have started since
  bool is_joining_ = false;
  std::vector<std::string> left_;        // what did not answer
  std::set<std::string> warned_;         // remarks of the sampler
  std::atomic<bool> has_stuck_ = false;  // another thread than the reader waits in a call
  std::optional<Watchdog> watch_;        // watches while targets are read
  Naming naming_;
  std::chrono::system_clock::time_point start_unix_;
  Clock::time_point start_;
  Clock::time_point end_;
  std::optional<Clock::time_point> cut_at_;  // where the last window ended
  bool ended_ = false;
  Profile profile_;
  std::vector<ModuleFile> files_;
};

}  // namespace labelscope::cli
