// From a command to a report: the program is started under ptrace (../step/program_tracer.h), and
// what was seen becomes subjects, effort and remarks.
#include "cli/check/step.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "cli/check/checked_program.h"
#include "cli/check/loaded_files.h"
#include "cli/format/text.h"
#include "cli/host/watchdog.h"
#include "cli/step/program_tracer.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {
namespace {

using std::chrono::milliseconds;

// What is left when the program has ended is not asked for long.
constexpr milliseconds kGrace{200};
// Names that a remark tells; the rest is a number.
constexpr std::size_t kMaxNames = 5;

// Changes that went unseen in functions that were not stepped through later, either.
std::uint64_t unproven_changes(const StepRecord& record) {
  std::uint64_t left = record.effort.unseen_updates;
  for (const auto& [start, function] : record.unseen_functions) {
    if (function.proven) left -= std::min(left, function.changes);
  }
  return left;
}

std::set<std::string> unproven_functions(const StepRecord& record) {
  std::set<std::string> names;
  for (const auto& [start, function] : record.unseen_functions) {
    if (!function.proven) names.insert(function.name);
  }
  return names;
}

std::string some_of(const std::set<std::string>& names) {
  std::string text;
  std::size_t told = 0;
  for (const std::string& name : names) {
    if (told == kMaxNames) {
      return text + " and " + counted(names.size() - told, "other", "others");
    }
    text += (told++ == 0 ? "" : ", ") + demangle(name);
  }
  return text;
}

class StepCheck {
 public:
  StepCheck(const std::vector<std::string>& command, const StepCheckOptions& options)
      : command_(command), options_(options), declared_(DeclaredUpdates::parse(options.updates)) {
    declared_.max_steps = options.max_update_steps;
  }

  Status run(CheckReport& report);

 private:
  Watchdog::Orders watchdog_orders(const CheckedProgram& program);
  CheckEffort effort_so_far() const;
  void note_loaded(const SteppedProcess& process);
  void report_process(CheckReport& report);
  void report_problems(const ProgramTracer& tracer, CheckReport& report);
  void report_ending(CheckedProgram& program, Watchdog::Reason reason, CheckReport& report);
  void report_gaps(CheckReport& report) const;

  const std::vector<std::string>& command_;
  const StepCheckOptions& options_;
  DeclaredUpdates declared_;
  StepRecord record_;
  LoadedFiles files_;
  std::string process_name_;
  std::string publisher_;  // path of the first file that publishes
  std::string absence_;    // why nothing publishes labels
  bool publishes_ = false;
  bool has_triggers_ = false;      // there is something to step
  std::set<std::string> missing_;  // declared updates that no file has
};

void StepCheck::note_loaded(const SteppedProcess& process) {
  files_.look_at(process.process(), process.plan());
  process_name_ =
      "process " + std::to_string(raw(process.pid())) + " (" + process.process().comm() + ")";
  if (!process.plan().publishers.empty()) publisher_ = process.plan().publishers.front().path;
  publishes_ |= !process.plan().publishers.empty();
  has_triggers_ |= process.has_triggers();
  absence_ = process.plan().absence();
  const std::vector<std::string> missing = process.missing_updates();
  missing_ = {missing.begin(), missing.end()};
}

CheckEffort StepCheck::effort_so_far() const {
  CheckEffort effort;
  effort.steps = record_.counts.steps;
  effort.updates = record_.counts.updates;
  effort.threads = record_.counts.threads;
  return effort;
}

Watchdog::Orders StepCheck::watchdog_orders(const CheckedProgram& program) {
  Watchdog::Orders orders;
  orders.time = options_.timeout;
  orders.cancelled = [this] {
    if (options_.progress) options_.progress(effort_so_far());
    return options_.cancelled && options_.cancelled();
  };
  orders.remedy = [&program] { program.kill_all(); };
  if (options_.give_up) {
    orders.give_up = [this](Watchdog::Reason, const std::string& why) { options_.give_up(why); };
  }
  return orders;
}

Status StepCheck::run(CheckReport& report) {
  auto program = CheckedProgram::start(command_, options_.signals);
  if (!program) return std::move(program).error();
  process_name_ = command_.front();
  Watchdog watchdog(watchdog_orders(*program));
  DebugFiles debug_files([&] { return watchdog.reason() != Watchdog::Reason::kNone; });
  TracerOptions tracing;
  tracing.max_updates = options_.max_updates;
  tracing.on_loaded = [this](const SteppedProcess& process) { note_loaded(process); };
  ProgramTracer tracer(program->pid(), declared_, debug_files, std::move(tracing), record_);
  if (Status status = tracer.seize(); !status) return status;
  if (Status status = program->release(); !status) return status;
  tracer.run();
  if (tracer.wait_status()) program->note_ended(*tracer.wait_status());
  report.wait_status = tracer.wait_status();

  files_.report(report);
  report_process(report);
  report_problems(tracer, report);
  report_ending(*program, watchdog.reason(), report);
  report_gaps(report);
  return {};
}

void StepCheck::report_process(CheckReport& report) {
  if (record_.effort.samples == 0) return;
  CheckedSubject subject;
  subject.name = process_name_;
  subject.publisher = publisher_;
  subject.rules = rules_of_label_sets(CheckDepth::kStep);
  subject.diagnostics = record_.findings.take();
  report.subjects.push_back(std::move(subject));
  report.effort = record_.effort;
}

void StepCheck::report_problems(const ProgramTracer& tracer, CheckReport& report) {
  if (tracer.failure()) {
    report.problems.push_back({command_.front(), *tracer.failure()});
  } else if (!publishes_) {
    report.problems.push_back(
        {command_.front(),
         {ErrorCode::kNotFound,
          absence_.empty() ? "it ended before its files could be looked at" : absence_}});
  }
  for (const std::string& missing : missing_) {
    report.problems.push_back(
        {"--update " + missing,
         {ErrorCode::kNotFound,
          "no file of the program has such a function in its symbol tables (was it inlined, or "
          "stripped?)"}});
  }
}

void StepCheck::report_ending(CheckedProgram& program, Watchdog::Reason reason,
                              CheckReport& report) {
  const CheckedProgram::Ending ending = program.end(kGrace);
  report.ended_by_check = reason != Watchdog::Reason::kNone;
  if (reason == Watchdog::Reason::kCancelled) {
    report.remarks.push_back("interrupted: the program was ended");
  } else if (reason == Watchdog::Reason::kTimeout) {
    report.remarks.push_back("the program still ran after " + seconds_text(options_.timeout) +
                             " and was ended; --timeout gives it longer");
  }
  for (const std::string& name : ending.running) {
    report.remarks.push_back("process " + name + " could not be ended and still runs");
  }
}

// What was not proven.
void StepCheck::report_gaps(CheckReport& report) const {
  auto remark = [&](const std::string& text) { report.remarks.push_back(text); };
  auto gap = [&](const char* name, const std::string& text) {
    report.gaps.push_back({name, text});
  };
  if (const std::uint64_t unproven = unproven_changes(record_); unproven != 0) {
    std::string text = counted(unproven, "change", "changes") +
                       " of label sets happened while a thread ran freely, and were not stepped "
                       "through";
    const std::set<std::string> functions = unproven_functions(record_);
    if (!functions.empty()) text += " (in " + some_of(functions) + ")";
    gap("unseen-updates", text + "; --update names the functions that make them");
    if (record_.no_watchpoints) {
      remark(
          "this machine has no hardware watchpoints, which would find the functions that change "
          "labels unseen; --update names them");
    }
  }
  if (publishes_ && !has_triggers_) {
    gap("no-functions",
        "no function that may change labels was found (is the program stripped?): only what "
        "watchpoints caught was stepped through; --update names such functions");
  }
  if (record_.abandoned != 0) {
    gap("abandoned-functions",
        counted(record_.abandoned, "function", "functions") +
            " ran on for long without changing labels and were let go before their end; --update "
            "names those that are updates");
  }
  if (record_.endless_regions != 0) {
    gap("endless-updates", counted(record_.endless_regions, "declared update", "declared updates") +
                               " did not end within " + with_thousands(declared_.max_steps) +
                               " instructions and were not followed further");
  }
  if (record_.unended_regions != 0) {
    gap("unended-updates",
        counted(record_.unended_regions, "declared update", "declared updates") +
            " had begun and not ended when a thread ended; all that changed from then on was taken "
            "for one update: is its end called on every way out?");
  }
  if (!record_.doubtful_functions.empty()) {
    const std::string names = some_of(record_.doubtful_functions);
    remark("a set was published and then changed in one call of " + names +
           ", which was taken for two updates; if it is one, name it with --update");
  }
  if (record_.exclusive_sequences != 0) {
    remark("an exclusive load and its store, with what is between them, are one step (" +
           counted(record_.exclusive_sequences, "time", "times") +
           "): stepped apart, the store would never succeed");
  }
  if (record_.other_processes != 0) {
    remark(counted(record_.other_processes, "process that the program started was",
                   "processes that the program started were") +
           " not stepped: only the program itself is");
  }
}

}  // namespace

Status step_command(const std::vector<std::string>& command, const StepCheckOptions& options,
                    CheckReport& report) {
  return StepCheck(command, options).run(report);
}

}  // namespace labelscope::cli
