// Checks, judges, renders. What could not be checked is never a clean verdict: neither a file that
// publishes nothing, nor a program that showed no labels, nor a check that failed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "cli/check/baseline.h"
#include "cli/check/files.h"
#include "cli/check/formats.h"
#include "cli/check/programs.h"
#include "cli/check/verdict.h"
#include "cli/check/wording.h"
#include "cli/commands.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/output_file.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/host/signals.h"
#include "cli/host/stop_guardian.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/process/find_processes.h"
#include "cli/record/privileges.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"
#include "labelscope/target.h"

namespace labelscope::cli {
namespace {

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

[[noreturn]] void give_up(const std::string& why) {
  log::error(why + "; labelscope ends, and nothing was written");
  end_process(kExitUnchecked);
}

class Check {
 public:
  explicit Check(const CheckOptions& options) : options_(options) {}

  int run() {
    if (options_.list_rules) return explain_rules();
    Baseline baseline;
    if (!options_.baseline.empty()) {
      const UsersOwnRights own;
      auto read = read_baseline(options_.baseline);
      if (!read) {
        log::error("the baseline " + escape_terminal(options_.baseline) + " " +
                   escape_terminal(read.error().context));
        return kExitUnchecked;
      }
      baseline = *std::move(read);
    }
    auto output = open_output();
    if (!output) return kExitUsage;
    if (Status found = find_process(); !found) {
      log::error(found.error().context);
      return found.error().code == ErrorCode::kPermission ? kExitPermission : kExitUnchecked;
    }
    if (Status given_up = give_up_rights(*output); !given_up) {
      log::error(given_up.error().context);
      return kExitUnchecked;
    }
    // A program that check starts is its child, and waits with it as other children do.
    if (pid_) guardian_.start();
    if (Status looked = look(); !looked) {
      Error error = std::move(looked).error();
      if (pid_ && error.code == ErrorCode::kPermission) {
        error.context += "; " + doctor_text(*pid_);
      }
      report_.problems.push_back({subject_name(), std::move(error)});
    } else if (options_.paths.empty()) {
      judge_process();
    }
    progress_.clear();
    const CheckVerdict verdict = judge(report_, options_.strict, baseline);
    if (!write(*output, render(verdict))) return kExitUnchecked;
    log_results(verdict);
    return status_of(verdict);
  }

 private:
  int explain_rules() {
    std::vector<const Rule*> rules;
    for (const std::string& name : options_.rules) {
      const Rule* rule = find_rule(name);
      if (rule == nullptr) {
        log::error("no rule is called " + escape_terminal(name) +
                   "; labelscope check --rules lists them");
        return kExitUsage;
      }
      rules.push_back(rule);
    }
    std::string text;
    if (options_.format == CheckFormat::kJson) {
      for (const Rule& rule : all_rules()) {
        if (options_.rules.empty()) rules.push_back(&rule);
      }
      text = render_rules_json(rules);
    } else if (rules.empty()) {
      text = list_rules(color());
    } else {
      for (const Rule* rule : rules) text += (text.empty() ? "" : "\n") + explain_rule(*rule);
    }
    auto output = open_output();
    if (!output) return kExitUsage;
    return write(*output, text) ? kExitOk : kExitUnchecked;
  }

  // One process is checked at a time, so of several the first that has not ended meanwhile.
  Status find_process() {
    // Each process that a name finds takes a descriptor. A command keeps the limit that it has.
    if (options_.command.empty()) raise_file_limit();
    const Watchdog watch(end_with(kExitUnchecked));
    auto found =
        named_processes(options_.wanted.processes.pids, options_.wanted.names(), log::info);
    if (!found) return std::move(found).error();
    if (found->empty()) return {};
    const auto lives =
        std::ranges::find_if(*found, [](Pid pid) { return bool{LiveProcess::open(pid)}; });
    pid_ = lives == found->end() ? found->front() : *lives;
    if (found->size() > 1) {
      log::info("of these " + std::to_string(found->size()) + " processes the first" +
                (*pid_ == found->front() ? ", " : " that goes on, ") + std::to_string(raw(*pid_)) +
                ", is checked");
    }
    return {};
  }

  // nullopt: it cannot be written, and the user has seen the reason.
  std::optional<OutputFile> open_output() const {
    const UsersOwnRights own;
    auto output = OutputFile::open(options_.output, options_.overwrite);
    if (output) return *std::move(output);
    log::error(escape_terminal(output.error().context));
    return std::nullopt;
  }

  // A command must have the rights that it has without labelscope, and is started after this, by
  // the thread that traces it. So none are given up.
  Status give_up_rights(const OutputFile& output) const {
    if (!options_.command.empty()) return {};
    unsigned work = kReadsTargets | kStopsThreads;
    if (!pid_) work = has_lent_rights() ? 0U : unsigned{kReadsFiles};
    return drop_rights(work, std::nullopt, [&] { return output.can_be_named(); });
  }

  Status look() {
    if (!options_.paths.empty()) {
      const Watchdog watch(end_with(kExitUnchecked));
      check_files(options_.paths, report_);
      return {};
    }
    signals_.emplace();
    if (options_.step) {
      StepCheckOptions step;
      step.updates = options_.updates;
      prepare(step);
      return step_command(options_.command, step, report_);
    }
    LiveCheckOptions live;
    if (options_.samples) live.samples = *options_.samples;
    prepare(live);
    return pid_ ? check_process(*pid_, live, report_)
                : check_command(options_.command, live, report_);
  }

  void prepare(ProgramCheckOptions& check) {
    if (options_.timeout) check.timeout = *options_.timeout;
    check.cancelled = [this] {
      signals_->poll();
      return signals_->stop_requested();
    };
    const auto begin = std::chrono::steady_clock::now();
    check.progress = [this, begin, timeout = check.timeout](const CheckEffort& effort) {
      progress_.checking(std::chrono::steady_clock::now() - begin, timeout, effort);
    };
    check.give_up = &give_up;
    check.signals = &*signals_;
  }

  std::string subject_name() const {
    if (pid_) return "process " + std::to_string(raw(*pid_));
    return options_.command.empty() ? "labelscope" : options_.command.front();
  }

  // Adds remarks on what makes a check of a process worth nothing, or less than it seems.
  void judge_process() {
    const CheckEffort& effort = report_.effort;
    const auto problem = [this](ErrorCode code, std::string text) {
      report_.problems.push_back({subject_name(), {code, std::move(text)}});
    };
    const bool interrupted = signals_->stop_requested();
    if (interrupted) problem(ErrorCode::kLimit, "interrupted: the check did not come to its end");
    // If nothing could be read, a problem has reported it.
    if (report_.problems.empty() && options_.step && effort.updates == 0 && effort.labelled != 0) {
      problem(ErrorCode::kNotFound,
              "no change of labels was stepped through, so nothing about updates is proven: "
              "--update names the functions that make them");
    } else if (report_.problems.empty() && effort.labelled == 0 && effort.updates == 0) {
      problem(ErrorCode::kNotFound,
              "no thread was seen with labels, so nothing about label sets is proven: let it set "
              "some while it is checked");
    }
    const bool stopped = report_.ended_by_check || interrupted;
    if (report_.wait_status && *report_.wait_status != 0 && !stopped) {
      problem(ErrorCode::kVanished,
              how_it_ended(*report_.wait_status) + ": what it did before was checked");
    }
  }

  std::string render(const CheckVerdict& verdict) const {
    switch (options_.format) {
      case CheckFormat::kJson:
        return render_check_json(report_, verdict, LABELSCOPE_VERSION);
      case CheckFormat::kJunit:
        return render_check_junit(report_, verdict);
      case CheckFormat::kSarif:
        return render_check_sarif(report_, verdict, LABELSCOPE_VERSION);
      case CheckFormat::kGithub:
        // The program may have left its last line open, and an annotation must begin a line.
        return (options_.command.empty() || options_.output != "-" ? "" : "\n") +
               render_check_github(report_, verdict);
      case CheckFormat::kText:
        break;
    }
    return render_check_text(report_, verdict, color());
  }

  bool write(OutputFile& output, const std::string& text) {
    if (signals_) signals_->begin_uninterrupted();
    const Status written = output.write([&](std::ostream& out) -> Status {
      out << text;
      return {};
    });
    if (signals_) signals_->end_uninterrupted();
    if (!written) log::error(escape_terminal(written.error().context));
    return written.has_value();
  }

  // The text on stdout has all of it already.
  void log_results(const CheckVerdict& verdict) const {
    if (options_.format == CheckFormat::kText && options_.output == "-") return;
    for (const CheckProblem& problem : report_.problems) log::error(problem_text(problem));
    for (const CheckGap& gap : report_.gaps) {
      (verdict.strict ? log::error : log::warning)(gap_text(gap));
    }
    for (const BaselineEntry& entry : verdict.gone) log::info(gone_text(entry));
    for (const std::string& remark : report_.remarks) log::info(escape_terminal(remark));
    for (const std::string& line : effort_lines(report_.effort)) log::info(line);
    log::info(verdict_line(report_, verdict));
  }

  int status_of(const CheckVerdict& verdict) const {
    switch (verdict.outcome) {
      case CheckVerdict::Outcome::kClean:
        return kExitOk;
      case CheckVerdict::Outcome::kFindings:
        return kExitFindings;
      case CheckVerdict::Outcome::kIncomplete:
        break;
    }
    const bool refused = std::any_of(
        report_.problems.begin(), report_.problems.end(),
        [](const CheckProblem& problem) { return problem.error.code == ErrorCode::kPermission; });
    // A file that may not be read cannot be checked; a process needs a privilege.
    return refused && options_.paths.empty() ? kExitPermission : kExitUnchecked;
  }

  bool color() const {
    return options_.output == "-" && use_color(options_.messages.color, STDOUT_FILENO);
  }

  const CheckOptions& options_;
  // Set if there is a process to be let go of or ended. A check of files ends at once, as any
  // program does.
  std::optional<Signals> signals_;
  std::optional<Pid> pid_;  // the process to check
  StopGuardian guardian_;
  CheckReport report_;
  Progress progress_{options_.messages.progress};
};

}  // namespace

int run(const CheckOptions& options) {
  // A check may go on for hours, and it does not depend on one moment.
  Precedence::own().renounce();
  return Check(options).run();
}

}  // namespace labelscope::cli
