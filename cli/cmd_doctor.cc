// labelscope doctor: goes the way of record up to the first sample, and reports what it met.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/doctor/checkup.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/host/signals.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/record/found_processes.h"
#include "cli/record/recorder.h"
#include "cli/record/samplers.h"
#include "cli/record/targets.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// More would be a wall of text.
constexpr std::size_t kMostShown = 8;

class Examination {
 public:
  explicit Examination(const DoctorOptions& options) : options_(options) {
    recording_.wanted = options.wanted;
    // Without a process, a command stands for those that labelscope needs the least rights to look
    // at. It is held back, as record does before it samples, and never executed.
    if (options.wanted.empty()) recording_.command = {"true"};
  }

  int run() {
    raise_file_limit();  // each process that a name finds takes a descriptor
    watch_.emplace(end_with(kExitRuntimeError));
    auto targets = find_targets(recording_, signals_, log::info);
    if (!targets) {
      log::error(targets.error().context);
      return status_of(targets.error());
    }
    check_system(checkup_);
    if (Status met = go(**targets); !met) {
      checkup_.lines.push_back(
          {CheckupVerdict::kMissing, failed_at_, met.error().context, {}, of_});
      status_ = status_of(met.error());
    }
    return show();
  }

 private:
  // The steps of a recording.
  Status go(Targets& targets) {
    failed_at_ = "sampling";
    auto opened = open_sampler(recording_, {no_rules_, {}}, targets);
    if (!opened) return std::move(opened).error();
    check_sampler(*opened, checkup_);
    const unsigned work = remaining_work(*opened, recording_, targets);
    watch_.reset();  // rights are given up by a process with one thread
    if (Status given_up = drop_rights(work, std::nullopt); !given_up) return given_up;
    watch_.emplace(end_with(kExitRuntimeError));
    failed_at_ = "access";
    if (!targets.is_command()) of_ = targets.first().front();
    Recorder recorder(std::move(opened->sampler),
                      {.period_ns = 1'000'000'000 / recording_.frequency_hz});
    if (Status added = targets.add_to(recorder, opened->backend); !added) {
      if (!targets.is_command()) return added;
      return Error{
          added.error().code,
          "not even a command that labelscope starts can be recorded: " + added.error().context};
    }
    if (targets.is_command()) return {};
    std::size_t shown = 0;
    for (const Pid pid : targets.first()) {
      if (++shown > kMostShown) break;
      check_process(pid, recorder, opened->backend, checkup_);
    }
    if (shown > kMostShown) {
      log::info("The first " + std::to_string(kMostShown) + " of " +
                counted(targets.first().size(), "process", "processes") + " are shown");
    }
    return {};
  }

  int show() const {
    const std::string text =
        options_.json ? render_checkup_json(checkup_, LABELSCOPE_VERSION)
                      : render_checkup(checkup_, use_color(options_.messages.color, STDOUT_FILENO));
    // With --quiet the status is all that is wanted.
    const bool shown = options_.json || options_.messages.log_level != log::Level::kQuiet;
    if (shown && (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)) {
      log::error(cannot_write("stdout", errno));
      return kExitRuntimeError;
    }
    const CheckupVerdict worst = checkup_.worst();
    log::info(worst == CheckupVerdict::kFine ? "labelscope record will work whole"
              : worst == CheckupVerdict::kLimited
                  ? "labelscope record will work, with the limits above"
                  : "labelscope record will not work");
    if (worst == CheckupVerdict::kMissing) return status_;
    return worst == CheckupVerdict::kFine ? kExitOk : kExitRuntimeError;
  }

  const DoctorOptions& options_;
  SessionOptions recording_;
  LabelRules no_rules_;
  Signals signals_;
  Checkup checkup_;
  const char* failed_at_ = "";
  Pid of_{};
  int status_ = kExitOk;
  std::optional<Watchdog> watch_;
};

}  // namespace

int run(const DoctorOptions& options) { return Examination(options).run(); }

}  // namespace labelscope::cli
