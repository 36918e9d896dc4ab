#include "cli/options/check_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/format/escape.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

constexpr const char* kCheckFooter = R"(
Examples:
  labelscope check --strict libcustomlabels.so ./server
  labelscope check -- ./server --self-test
  labelscope check --step --update set_labels -- ./update_labels
  labelscope check --format sarif -o labels.sarif build/
  labelscope check --rules LS031

Exit status: 0 clean, 1 findings (errors; with --strict also warnings), 2 usage, 3 something could not
be checked or publishes no labels, 4 permission. The manuals: man labelscope-check, man labelscope-rules)";

// More would take hours, and is a slip of the hand.
constexpr std::uint32_t kMaxSamples = 100'000'000;

CheckFormat parse_format(const std::string& text) {
  if (text == "text") return CheckFormat::kText;
  if (text == "json") return CheckFormat::kJson;
  if (text == "junit") return CheckFormat::kJunit;
  if (text == "sarif") return CheckFormat::kSarif;
  if (text == "github") return CheckFormat::kGithub;
  refuse("--format " + escape_terminal(text) +
         ": unknown; text, json, junit, sarif and github are known");
}

}  // namespace

const char* CheckParser::usage() const {
  return "labelscope check [OPTIONS] FILE|DIRECTORY...\n"
         "       labelscope check [OPTIONS] -p PID\n"
         "       labelscope check [OPTIONS] [--step] -- CMD [ARG...]\n"
         "       labelscope check --rules [RULE...]";
}

void CheckParser::add_to(CLI::App& app) {
  check_ = app.add_subcommand(name(), "Prove that a writer of labels follows the ABI");
  check_->footer(kCheckFooter);
  const char* target = "What to check (one of)";
  check_->add_option("FILE", words_, "Programs, libraries, and directories to search")
      ->type_name("");
  check_->add_option("-p,--pid", pids_, "A process: its files, and the labels of its threads")
      ->type_name("PID")
      ->expected(1)
      ->allow_extra_args(false)  // the next word is a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(target);
  check_->add_flag("--rules", rules_, "List the rules; with names (LS031), explain them")
      ->group(target);
  const char* depth = "How deep";
  check_->add_flag("--step", step_, "Run the program's label updates one instruction at a time")
      ->group(depth);
  check_
      ->add_option("--update", updates_,
                   "With --step: a function that is one update, or two that begin and end one "
                   "(repeatable)")
      ->type_name("FUNCTION[:END]")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(depth);
  check_
      ->add_option("--samples", samples_,
                   "Of a process: how many label sets to read (default 1000)")
      ->type_name("N")
      ->group(depth);
  check_
      ->add_option("--timeout", timeout_,
                   "Of a process: end after this time (default 30s; with --step 60s)")
      ->type_name("TIME")
      ->group(depth);
  const char* output = "Output";
  check_->add_option("-f,--format", format_, "text, json, junit, sarif or github")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(output);
  check_->add_option("-o,--output", output_, "File to write, - for stdout")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(output);
  check_->add_flag("--overwrite", overwrite_, "Replace a file that exists")->group(output);
  const char* verdict = "Verdict";
  check_->add_flag("--strict", strict_, "Warnings fail, too")->group(verdict);
  check_
      ->add_option("--baseline", baseline_,
                   "Accept the findings in this file, which --format json has written before")
      ->type_name("FILE")
      ->group(verdict);
  messages_.add_to(*check_);
}

bool CheckParser::given(const char* option) const {
  return check_->get_option(option)->count() > 0;  // an empty argument is an argument too
}

void CheckParser::check_target(const CheckOptions& options) const {
  const auto kinds =
      static_cast<int>(!options.paths.empty()) + static_cast<int>(options.pid.has_value()) +
      static_cast<int>(!options.command.empty()) + static_cast<int>(options.list_rules);
  if (kinds == 0) {
    refuse("nothing to check: name a file, a process with -p PID, or a program after --");
  }
  if (kinds > 1) {
    refuse(
        "files, -p, a program after -- and --rules exclude each other: check one of them a time");
  }
  if (std::count(options.paths.begin(), options.paths.end(), "") > 0) {
    refuse("a file name is empty");
  }
}

void CheckParser::check_depth(CheckOptions& options) const {
  if (step_ && options.command.empty()) refuse("--step needs a program after -- that it can start");
  if (!step_ && given("--update")) refuse("--update has a meaning with --step only");
  if (std::count(updates_.begin(), updates_.end(), "") > 0) {
    refuse("--update: the function's name is empty");
  }
  const bool process = options.pid || !options.command.empty();
  if (given("--timeout")) {
    if (!process) refuse("--timeout has a meaning with -p or a program after -- only");
    options.timeout =
        std::chrono::ceil<std::chrono::milliseconds>(parse_duration("--timeout", timeout_));
  }
  if (given("--samples")) {
    if (!process || step_) {
      refuse("--samples has a meaning with -p or a program after --, and without --step");
    }
    options.samples = parse_count("--samples", samples_, 1, kMaxSamples);
  }
}

void CheckParser::check_output(CheckOptions& options) const {
  options.format = parse_format(format_);
  if (options.list_rules && options.format != CheckFormat::kText &&
      options.format != CheckFormat::kJson) {
    refuse("--rules has the formats text and json");
  }
  if (output_.empty()) refuse("--output: the file name is empty");
  if (given("--baseline") && baseline_.empty()) refuse("--baseline: the file name is empty");
}

Options CheckParser::checked(const CommandTail& tail) const {
  CheckOptions options;
  options.command = tail.command;
  options.list_rules = rules_;
  (rules_ ? options.rules : options.paths) = words_;
  const auto pids = parse_pids(pids_);
  if (pids.size() > 1) refuse("--pid: one process at a time is checked");
  if (!pids.empty()) options.pid = pids.front();
  check_target(options);
  check_depth(options);
  check_output(options);
  options.step = step_;
  options.updates = updates_;
  options.output = output_;
  options.overwrite = overwrite_;
  options.strict = strict_;
  options.baseline = baseline_;
  options.messages = messages_.checked();
  return options;
}

}  // namespace labelscope::cli
