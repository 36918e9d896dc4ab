// labelscope record: the words, files and exit statuses around one session (record/session.h).
#include <chrono>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/format/common/ledger_text.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/signals.h"
#include "cli/host/terminal.h"
#include "cli/profile/value_caps.h"
#include "cli/record/announcements.h"
#include "cli/record/file_sink.h"
#include "cli/record/messages.h"
#include "cli/record/report.h"
#include "cli/record/session.h"
#include "cli/record/stack_ends.h"

namespace labelscope::cli {
namespace {

class Recording final : private SessionListener {
 public:
  explicit Recording(const RecordOptions& options)
      : options_(options),
        progress_(options.messages.progress),
        files_(options, options.drop_to),
        session_(options, {options.labels, options.blame}, signals_, *this, {&files_}),
        announcements_(session_) {}

  int run();

 private:
  void found() override { announcements_.choose_noticed(); }
  Status planned() override { return announcements_.planned(); }
  void started() override { announcements_.started(); }
  void turned(std::chrono::nanoseconds elapsed) override;
  void sampled(std::chrono::nanoseconds time) override;
  void stopped() override { announcements_.stopped(); }
  void taken(Profile& profile) override { cap_values(options_.caps, profile); }

  int work();
  int report();
  int report_nothing(const RecordReport& report);
  std::optional<int> select_samples(const RecordReport& report);
  int failed(const Error& error) const;
  int exit_status();

  const RecordOptions& options_;
  Signals signals_;
  Progress progress_;
  FileSink files_;
  Session session_;
  Announcements announcements_;
};

// The error has the whole message.
int Recording::failed(const Error& error) const {
  log::error(error.context);
  return session_.exit_status().value_or(status_of(error));
}

int Recording::run() {
  if (Status ready = session_.prepare(log::info); !ready) return failed(ready.error());
  return session_.run([this] { return work(); });
}

// This may be called again, and each step does what is left of it.
int Recording::work() {
  Status done = session_.add(announcements_.noticed());
  if (done) done = session_.start();
  if (!done) return failed(done.error());
  session_.sample();
  session_.stop();
  session_.take();
  session_.name(progress_);
  progress_.clear();
  session_.begin_report();
  const int status = report();
  const bool is_whole = session_.is_whole() || (status != kExitOk && !session_.naming().given_up());
  return is_whole ? status : int{kExitRuntimeError};
}

void Recording::turned(std::chrono::nanoseconds elapsed) {
  announcements_.turned(progress_);
  progress_.recording([&] {
    const Recorder& recorder = session_.recorder();
    return Progress::State{elapsed, options_.duration, recorder.samples(), recorder.labelled(),
                           recorder.dropped()};
  });
}

void Recording::sampled(std::chrono::nanoseconds time) {
  progress_.clear();
  // If there is no sample, the explanation includes this (messages.h).
  if (session_.ended() && options_.duration && session_.recorder().samples() > 0) {
    const auto whole = std::chrono::floor<std::chrono::milliseconds>(time);
    log::info("The target ended after " + std::to_string(whole.count()) + " ms");
  }
}

int Recording::exit_status() {
  const auto say_waiting = [] {
    log::info(
        "The command goes on; waiting for it to end (--end-command ends it when the time is over)");
  };
  return session_.targets().exit_status(signals_, say_waiting, options_.end_command);
}

int Recording::report_nothing(const RecordReport& report) {
  const Profile& profile = session_.profile();
  Targets& targets = session_.targets();
  report.say_problems();
  NoSample none;
  none.standstill = targets.standstill();
  none.ended = targets.ended() || targets.awaited();
  none.interrupted = signals_.stop_requested();
  none.command = targets.is_command();
  none.ran = std::chrono::nanoseconds(profile.ledger.time.whole());
  none.duration = std::chrono::nanoseconds(profile.duration_ns);
  none.frequency_hz = options_.frequency_hz;
  none.wall = options_.mode == SampleMode::kWall;
  none.off_cpu = options_.mode == SampleMode::kOffCpu;
  none.ptrace = session_.opened().backend == Backend::kPtrace;
  none.bpf_helps = session_.opened().bpf_would_do;
  log::error("no sample was taken: " + why_no_sample(none) + ". No file was written");
  if (targets.is_command()) return exit_status();
  return none.ended ? kExitNoTarget : kExitNoSample;
}

// Leaves the samples of --where. Returns the exit status if none is left.
std::optional<int> Recording::select_samples(const RecordReport& report) {
  if (options_.where.empty()) return std::nullopt;
  Selection selection;
  selection.conditions = options_.where;
  if (auto selected = select(session_.profile(), selection); !selected) {
    log::error(selected.error().context);
    return kExitRuntimeError;
  }
  if (!session_.profile().rows.empty()) return std::nullopt;
  report.say_problems();
  log::error("no sample meets the condition of --where. No file was written");
  const int status = exit_status();
  return session_.targets().is_command() ? status : kExitNoSample;
}

int Recording::report() {
  Profile& profile = session_.profile();
  count_stack_ends(profile);
  RecordReport report(options_, profile, session_.recorder(), session_.opened());
  if (profile.ledger.written == 0) return report_nothing(report);
  if (const auto status = select_samples(report)) return *status;
  signals_.begin_uninterrupted();
  const Status written = session_.hand_out({profile, report.shown()});
  report.note_written(files_.written());
  const bool shown = report.show_labels(files_.outputs());
  signals_.end_uninterrupted();
  report.say_problems();
  if (profile.ledger.counters[Counter::kThreadsNotStopped] != 0) {
    const std::string held = session_.targets().standstill();
    if (!held.empty()) log::warning(held);
  }
  report.say_files();
  const int status = exit_status();
  report.say_ledger();
  if (!written || !shown) return kExitRuntimeError;
  // What was left out, or given up, has a status of its own, and makes accounts differ.
  const bool given_up = session_.naming().given_up();
  const bool is_whole = session_.is_whole() && !given_up && options_.where.empty();
  if (options_.strict && is_whole && !account_problems(profile).empty()) return kExitAccount;
  return given_up ? kExitGivenUp : status;
}

}  // namespace

int run(const RecordOptions& options) { return Recording(options).run(); }

}  // namespace labelscope::cli
