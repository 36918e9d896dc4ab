// Starts the program under ptrace (../step/program_tracer.h), and makes subjects, effort and
// remarks of what was seen.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cli/check/checked_program.h"
#include "cli/check/files.h"
#include "cli/check/programs.h"
#include "cli/host/watchdog.h"
#include "cli/step/program_tracer.h"
#include "cli/symbol/file_namer.h"
#include "cli/text/text.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

using std::chrono::milliseconds;

// Processes that are left when the program has ended get this long to end after SIGTERM.
constexpr milliseconds kGrace{200};
// A remark lists this many names, and counts the rest.
constexpr std::size_t kMaxNames = 5;

// Unseen changes in functions that were not stepped through later, either.
struct Unproven {
  std::uint64_t changes = 0;
  std::set<std::string> functions;
};

Unproven unproven(const StepRecord& record) {
  Unproven left{record.effort.unseen_updates, {}};
  for (const auto& [start, function] : record.unseen_functions) {
    if (function.proven) {
      left.changes -= std::min(left.changes, function.changes);
    } else {
      left.functions.insert(function.name);
    }
  }
  return left;
}

std::string some_of(const std::set<std::string>& names, FileNamer& namer) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kMaxNames) {
      return text + " and " + counted(names.size() - shown, "other", "others");
    }
    text += (shown++ == 0 ? "" : ", ") + namer.demangled(name);
  }
  return text;
}

class StepCheck {
 public:
  StepCheck(const std::vector<std::string>& command, const StepCheckOptions& options,
            CheckReport& report)
      : command_(command),
        options_(options),
        report_(report),
        namer_({.launch = options.worker}),
        process_name_(command.front()) {}

  Status run() {
    auto program = CheckedProgram::start(command_, options_.signals);
    if (!program) return std::move(program).error();
    Watchdog watchdog(watchdog_orders(*program));
    namer_.set_cancelled([&] { return watchdog.reason() != Watchdog::Reason::kNone; });
    TracerOptions tracing;
    tracing.declared = DeclaredUpdates::parse(options_.updates);
    tracing.declared.max_steps = options_.max_update_steps;
    tracing.namer = &namer_;
    tracing.max_updates = options_.max_updates;
    tracing.release = [&] { return program->release(); };
    tracing.on_loaded = [this](const SteppedProcess& process) { note_loaded(process); };
    tracing.progress = options_.progress;
    if (Status status = trace_program(program->pid(), tracing, record_); !status) return status;
    if (record_.wait_status) program->note_ended(*record_.wait_status);
    namer_.set_cancelled({});
    namer_.end();  // our only children now are the program's
    files_.report(report_);
    report_process();
    report_problems();
    program->finish(kGrace, watchdog.reason(), options_.timeout, report_);
    report_gaps();
    report_ways();
    return {};
  }

 private:
  Watchdog::Orders watchdog_orders(const CheckedProgram& program) const {
    Watchdog::Orders orders;
    orders.time = options_.timeout;
    orders.cancelled = [this] { return options_.cancelled && options_.cancelled(); };
    orders.remedy = [&program] { program.kill_all(); };
    if (options_.give_up) {
      orders.give_up = [this](Watchdog::Reason, const std::string& why) { options_.give_up(why); };
    }
    return orders;
  }

  void note_loaded(const SteppedProcess& process) {
    const ProcessPlan& plan = process.plan();
    files_.look_at(process.process(), plan);
    process_name_ = process_name(process.pid(), process.process().comm());
    if (!plan.publishers.empty()) publisher_ = plan.publishers.front().path;
    for (const Publisher& publisher : plan.publishers) sources_.insert(publisher.recipe.source);
    has_triggers_ |= process.has_triggers();
    absence_ = plan.absence();
    missing_ = process.missing_updates();
  }

  std::vector<RuleId> rules_stepped() const {
    std::vector<RuleId> rules;
    for (const unsigned source : sources_) {
      const auto more = rules_of_threads(source, CheckDepth::kStep);
      rules.insert(rules.end(), more.begin(), more.end());
    }
    return rules;
  }

  void report_process() {
    if (record_.effort.samples == 0) return;
    report_.subjects.push_back(
        {process_name_, rules_stepped(), record_.findings.take(), publisher_});
    report_.effort = record_.effort;
  }

  void report_problem(const std::string& name, Error error) {
    report_.problems.push_back({name, std::move(error)});
  }

  void report_problems() {
    if (record_.failure) {
      report_problem(command_.front(), *record_.failure);
    } else if (!publishes()) {
      report_problem(command_.front(), nothing_published(absence_));
    }
    for (const std::string& missing : missing_) {
      report_problem("--update " + missing,
                     {ErrorCode::kNotFound,
                      "no file of the program has such a function in its symbol tables (was it "
                      "inlined, or stripped?)"});
    }
  }

  void gap(const char* name, const std::string& text) { report_.gaps.push_back({name, text}); }
  void remark(const std::string& text) { report_.remarks.push_back(text); }

  // Reports what was not proven.
  void report_gaps() {
    if (const Unproven left = unproven(record_); left.changes != 0) {
      std::string text = counted(left.changes, "change", "changes") +
                         " of label sets happened while a thread ran freely, and were not stepped "
                         "through";
      if (!left.functions.empty()) text += " (in " + some_of(left.functions, namer_) + ")";
      gap("unseen-updates", text + "; --update names the functions that make them");
    }
    if (publishes() && !has_triggers_) {
      gap("no-functions",
          "no function that may change labels was found (is the program stripped?): only " +
              std::string(record_.no_watchpoints ? "calls of the functions that it has"
                                                 : "what watchpoints caught") +
              " was stepped through; --update names such functions");
    }
    if (record_.abandoned != 0) {
      gap("abandoned-functions",
          counted(record_.abandoned, "function", "functions") +
              " ran on for long without changing labels and were let go before their end; --update "
              "names those that are updates");
    }
    if (record_.endless_regions != 0) {
      gap("endless-updates",
          counted(record_.endless_regions, "declared update", "declared updates") +
              " did not end within " + with_thousands(options_.max_update_steps) +
              " instructions and were not followed further");
    }
    if (record_.unended_regions != 0) {
      gap("unended-updates",
          counted(record_.unended_regions, "declared update", "declared updates") +
              " had begun and not ended when a thread ended; all that changed from then on was "
              "taken for one update: is its end called on every way out?");
    }
  }

  // Reports how stepping was done, where that matters for what it means.
  void report_ways() {
    if (publishes() && record_.no_watchpoints) report_lack_of_watchpoints();
    if (!record_.doubtful_functions.empty()) {
      const std::string names = some_of(record_.doubtful_functions, namer_);
      remark("a set was published and then changed in one call of " + names +
             ", which was taken for two updates; if it is one, name it with --update");
    }
    if (record_.exclusive_sequences != 0) {
      remark("an exclusive load and its store, with what is between them, are one step (" +
             counted(record_.exclusive_sequences, "time", "times") +
             "): stepped apart, the store would never succeed");
    }
    if (!namer_.trouble().empty()) {
      remark("functions of a file of the program could not be read: " + namer_.trouble());
    }
    if (record_.other_processes != 0) {
      remark(counted(record_.other_processes, "process that the program started was",
                     "processes that the program started were") +
             " not stepped: only the program itself is");
    }
  }

  void report_lack_of_watchpoints() {
    std::string text =
        "this machine has no hardware watchpoint that is free and reports changes, so stepping "
        "began at every function of the program that a thread with labels called";
    if (record_.functions_let_go != 0) {
      text += "; " + counted(record_.functions_let_go, "function was", "functions were") +
              " let go, having changed no label for long or in " +
              std::to_string(Suspects::kQuietCalls) + " calls";
    }
    if (record_.functions_passed != 0) {
      text +=
          "; " + counted(record_.functions_passed, "function was", "functions were") +
          " let go without a look, after " + with_thousands(Suspects::kMostPasses) +
          " calls by threads without labels: what it changes for a thread with labels is seen "
          "only afterwards";
    }
    remark(text);
  }

  bool publishes() const { return !publisher_.empty(); }

  const std::vector<std::string>& command_;
  const StepCheckOptions& options_;
  CheckReport& report_;
  StepRecord record_;
  FileNamer namer_;
  LoadedFiles files_;
  std::string process_name_;
  std::string publisher_;          // path of the first file that publishes; empty: no file did
  std::set<unsigned> sources_;     // label sources of the files that have published
  std::string absence_;            // why nothing publishes labels
  bool has_triggers_ = false;      // there is something to step
  std::set<std::string> missing_;  // declared updates that no file defines
};

}  // namespace

Status step_command(const std::vector<std::string>& command, const StepCheckOptions& options,
                    CheckReport& report) {
  return StepCheck(command, options, report).run();
}

}  // namespace labelscope::cli
