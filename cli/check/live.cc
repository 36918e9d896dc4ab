// The loop over samples: for a process that exists (check_process), or for a program that check
// starts, with all its child processes (check_command). Samples and files are reported at its end.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/check/checked_program.h"
#include "cli/check/files.h"
#include "cli/check/pace.h"
#include "cli/check/program_hold.h"
#include "cli/check/programs.h"
#include "cli/check/watched_process.h"
#include "cli/host/watchdog.h"
#include "cli/process/frozen_group.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The average time between two samples in check_process(): a thousand samples take two seconds.
constexpr milliseconds kBetweenSamples{2};
// so that nothing computed from the number of samples overflows
constexpr std::uint64_t kMostSamples = 1'000'000'000;
// Without anything to sample, Ctrl-C and the end of the program are noticed this soon.
constexpr milliseconds kTick{10};
// This many processes are watched at a time. A program may start one for each of its tests.
constexpr std::size_t kMaxWatched = 256;

// Collects what the check learns of one process, or of all processes of a program.
class LiveCheck {
 public:
  explicit LiveCheck(const LiveCheckOptions& options) : options_(options) {}

  // Starts to watch what follows. If it gets stuck, `remedy` is called (Watchdog).
  void begin_watch(std::function<void()> remedy) {
    if (!options_.give_up) return;
    Watchdog::Orders orders;
    orders.current_stop = [this] { return current_stop_.load(); };
    orders.time = options_.timeout;
    orders.remedy = std::move(remedy);
    orders.give_up = [this](Watchdog::Reason, const std::string& why) { options_.give_up(why); };
    watch_.emplace(std::move(orders));
  }

  // Returns why the remedy was called; empty: it was not.
  std::string end_watch() {
    std::string trouble = watch_ ? watch_->trouble() : std::string();
    watch_.reset();
    return trouble;
  }

  // Takes one sample of each thread of the process.
  Result<std::uint64_t> sample(Pid pid, const std::optional<HeldThread>& held = std::nullopt) {
    if (watched_.size() >= kMaxWatched && watched_.count(pid) == 0) {
      remarks_.insert("more than " + std::to_string(kMaxWatched) +
                      " processes at a time: not all were looked at");
      return std::uint64_t{0};
    }
    WatchedProcess& process = watched_.try_emplace(pid, pid, &current_stop_).first->second;
    auto threads = process.sample(findings_, files_, held);
    if (threads) {
      taken_ += *threads;
    } else if (threads.error().code == ErrorCode::kPermission) {
      refusal_ = threads.error();
    }
    if (process.plan()) note_publishers(pid, *process.plan());
    return threads;
  }

  // Samples for SampleTurns. Errors become remarks.
  SampleTurns::Taken take_turn(Pid pid, const std::optional<HeldThread>& held) {
    const std::uint64_t labelled = findings_.labelled();
    const auto threads = sample(pid, held);
    const auto known = watched_.find(pid);
    return {threads ? *threads : 0, findings_.labelled() != labelled,
            known == watched_.end() ? 0 : known->second.programs()};
  }

  // The next sample plans again first, because something may have been loaded.
  void look_anew(Pid pid) {
    const auto known = watched_.find(pid);
    if (known != watched_.end()) known->second.plan_now();
  }

  // Stops watching all other processes.
  void keep_only(const std::vector<Pid>& pids) {
    const std::set<Pid> running(pids.begin(), pids.end());
    std::erase_if(watched_, [&](const auto& entry) {
      if (running.count(entry.first) != 0) return false;
      note_unread(entry.first, entry.second);
      return true;
    });
  }

  bool enough() const { return taken_ >= options_.samples; }
  bool over() const { return cancelled() || elapsed() >= options_.timeout; }
  bool refused() const { return refusal_.has_value(); }
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  void report_progress() const {
    if (options_.progress) options_.progress(findings_.effort());
  }
  nanoseconds elapsed() const { return Clock::now() - begin_; }

  // Waits until that time, or until Ctrl-C.
  template <class Ended>
  void wait(nanoseconds pause, Ended ended) const {
    const auto until = Clock::now() + pause;
    while (!over() && !ended()) {
      report_progress();
      const auto left = until - Clock::now();
      if (left <= nanoseconds::zero()) return;
      std::this_thread::sleep_for(std::min<nanoseconds>(left, kTick));
    }
  }

  // `name` is the subject of the report if there is nothing to check.
  void report(const std::string& name, CheckReport& report) {
    const std::size_t subjects_before = report.subjects.size();
    files_.report(report);
    const bool publishes = report.subjects.size() > subjects_before;
    findings_.report(report);
    std::set<std::string> reported;
    for (const auto& [publisher, finding] : unresolved_) {
      const std::string& path = publisher.second;
      if (resolved_.contains(publisher) || !reported.insert(path).second) continue;
      report.problems.push_back(
          {path,
           {ErrorCode::kUnsupported, "its labels cannot be found: " + finding_clause(finding)}});
    }
    keep_only({});
    for (const auto& [comm, unread] : unread_) {
      remarks_.insert("process " + comm + ": reading a thread failed " +
                      counted(unread.count, "time", "times") + ": " + unread.why);
    }
    // A program may start others that have more rights, and that is no problem. But if the check
    // has seen nothing at all, the refusal is the reason.
    if (refusal_ && report.effort.samples == 0) {
      report.problems.push_back({name, *refusal_});
    } else if (refusal_) {
      remarks_.insert("a process could not be looked at: " + refusal_->context);
    }
    // If nothing was checked, the report must not look like success.
    if (!publishes && report.problems.empty()) {
      report.problems.push_back({name, nothing_published(absence_)});
    }
    report.remarks.insert(report.remarks.end(), remarks_.begin(), remarks_.end());
  }

 private:
  struct Unread {
    std::uint64_t count = 0;
    std::string why;  // the reason of the last time
  };

  void note_publishers(Pid pid, const ProcessPlan& plan) {
    for (const Publisher& publisher : plan.publishers) {
      if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) continue;
      if (publisher.recipe.kind != LS_RECIPE_NONE) {
        resolved_.insert({pid, publisher.path});
      } else if (!publisher.findings.empty()) {
        unresolved_.try_emplace({pid, publisher.path}, publisher.findings.front());
      }
    }
    if (plan.publishers.empty()) absence_ = plan.absence();
  }

  void note_unread(Pid pid, const WatchedProcess& process) {
    if (process.unread() == 0) return;
    Unread& unread = unread_[process.comm()];
    unread.count += process.unread();
    const auto frozen = frozen_group_of(pid);
    unread.why = frozen ? "it is frozen: " + frozen->reason() : process.why_unread();
  }

  const LiveCheckOptions& options_;
  Clock::time_point begin_ = Clock::now();
  DataFindings findings_;
  LoadedFiles files_;
  std::map<Pid, WatchedProcess> watched_;
  std::uint64_t taken_ = 0;
  std::set<std::string> remarks_;
  // Publishers whose variable was not found. Another process may have another file at that path.
  std::map<std::pair<Pid, std::string>, Finding> unresolved_;
  std::set<std::pair<Pid, std::string>> resolved_;
  std::map<std::string, Unread> unread_;  // by process name
  std::string absence_;                   // why a process had no publisher
  std::optional<Error> refusal_;          // why the last process could not be read
  std::atomic<std::uint64_t> current_stop_{0};
  std::optional<Watchdog> watch_;
};

// Returns when to list the processes of a program again. A list reads a file of each thread, so
// lists take up to a twentieth of the time; most processes start at the beginning. A process that
// starts and ends between two lists is missed.
nanoseconds next_list(nanoseconds begin, nanoseconds end) {
  constexpr int kPart = 20;
  const nanoseconds pause = std::clamp<nanoseconds>(end / kPart, milliseconds{1}, kTick);
  return end + std::max<nanoseconds>(pause, kPart * (end - begin));
}

// Samples a program's processes until the program has ended; those that start late are sampled as
// closely as the first. The first process is also sampled when it is loaded and when it is about to
// end, even if that is very soon. Returns why the program had to be killed; empty: it was not.
std::string sample_program(CheckedProgram& program, ProgramHold& hold,
                           const LiveCheckOptions& options, LiveCheck& check) {
  using Moment = ProgramHold::Moment;
  SampleTurns turns(options.samples, options.timeout);
  std::vector<Pid> processes{program.pid()};
  nanoseconds list_due{0};
  const auto take_turn = [&](Pid pid) {
    const bool first = pid == program.pid();
    if (first) hold.stop();
    if (first && hold.is_awaited()) return;
    auto taken = check.take_turn(pid, first ? hold.thread() : std::nullopt);
    if (first && check.refused() && hold.thread()) {
      // Let go first, so that a refusal has the kernel's reason. Otherwise the reason would be that
      // we trace the process ourselves.
      hold.let_go();
      taken = check.take_turn(pid, std::nullopt);
    }
    if (first) hold.go_on();
    turns.note(pid, taken, check.elapsed());
  };
  check.begin_watch([&program] { program.kill_all(); });
  for (Moment moment = Moment::kNone; moment != Moment::kEnded && !check.over();) {
    if (moment != Moment::kNone) {
      check.look_anew(program.pid());
      take_turn(program.pid());
    }
    if (const nanoseconds begin = check.elapsed(); begin >= list_due) {
      processes = program.processes();
      check.keep_only(processes);
      turns.keep_only(processes);
      list_due = next_list(begin, check.elapsed());
    }
    for (const Pid pid : processes) {
      if (turns.is_due(pid, check.elapsed())) take_turn(pid);
    }
    check.report_progress();
    const nanoseconds due = turns.next(list_due) - check.elapsed();
    moment = hold.wait(std::clamp<nanoseconds>(due, nanoseconds{0}, kTick));
  }
  hold.let_go();
  if (const auto status = hold.wait_status()) program.note_ended(*status);
  return check.end_watch();
}

// Waits for the program's end, and ends it after the timeout.
void finish(CheckedProgram& program, const LiveCheckOptions& options, const LiveCheck& check,
            CheckReport& report) {
  const auto ended = [&program] { return program.ended().has_value(); };
  check.wait(nanoseconds::max() / 4, ended);
  Watchdog::Reason reason = Watchdog::Reason::kNone;
  if (!ended()) reason = Watchdog::Reason::kTimeout;
  if (check.cancelled()) reason = Watchdog::Reason::kCancelled;
  program.finish(options.grace, reason, options.timeout, report);
}

}  // namespace

Status check_process(Pid pid, const LiveCheckOptions& options, CheckReport& report) {
  LiveCheck check(options);
  auto process = LiveProcess::open(pid);
  if (!process) return std::move(process).error();
  const std::string name = process_name(pid, (*process)->comm());
  const nanoseconds span = std::min<nanoseconds>(
      kBetweenSamples * std::min<std::uint64_t>(options.samples, kMostSamples), options.timeout);
  Pace pace(Pace::Kind::kEven, options.samples, span);
  bool any = false;
  check.begin_watch({});
  while (!check.over()) {
    auto threads = check.sample(pid);
    if (!threads) {
      if (!any || threads.error().code != ErrorCode::kVanished) return std::move(threads).error();
      report.remarks.push_back(name + " ended meanwhile");
      break;
    }
    any = true;
    // Without a publisher there will never be enough samples.
    if (check.enough() || (*threads == 0 && check.elapsed() >= span)) break;
    check.wait(pace.pause(check.elapsed(), *threads), [] { return false; });
  }
  check.end_watch();
  check.report(name, report);
  return {};
}

Status check_command(const std::vector<std::string>& command, const LiveCheckOptions& options,
                     CheckReport& report) {
  auto program = CheckedProgram::start(command, options.signals);
  if (!program) return std::move(program).error();
  LiveCheck check(options);
  ProgramHold hold(program->pid());
  if (!gains_rights(command.front())) hold.seize();
  if (Status status = program->release(); !status) return status;
  const std::string trouble = sample_program(*program, hold, options, check);
  finish(*program, options, check, report);
  if (!trouble.empty()) {
    report.ended_by_check = true;
    report.problems.push_back(
        {command.front(), {ErrorCode::kLimit, trouble + "; the program was ended"}});
  }
  check.report(command.front(), report);
  return {};
}

}  // namespace labelscope::cli
