// The options of check as they are typed.
#include "cli/options/check_options.h"

#include <algorithm>

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

// More would take hours, and is a typing error.
constexpr std::uint32_t kMaxSamples = 100'000'000;

constexpr Named<CheckFormat> kCheckFormats[] = {{"text", CheckFormat::kText},
                                                {"json", CheckFormat::kJson},
                                                {"junit", CheckFormat::kJunit},
                                                {"sarif", CheckFormat::kSarif},
                                                {"github", CheckFormat::kGithub}};

std::chrono::milliseconds parse_timeout(const std::string& option, const std::string& text) {
  return std::chrono::ceil<std::chrono::milliseconds>(parse_duration(option, text));
}

void check_target(const CheckOptions& options) {
  const auto kinds =
      static_cast<int>(!options.paths.empty()) + static_cast<int>(!options.wanted.empty()) +
      static_cast<int>(!options.command.empty()) + static_cast<int>(options.list_rules);
  if (kinds == 0) {
    refuse(
        "nothing to check: name a file, a process with -p PID or -p NAME, or a program after "
        "--");
  }
  if (kinds > 1) {
    refuse(
        "files, -p, a program after -- and --rules exclude each other: check one of them a "
        "time");
  }
  if (options.wanted.processes.pids.size() > 1) refuse("--pid: one process at a time is checked");
  if (std::count(options.paths.begin(), options.paths.end(), "") > 0) {
    refuse("a file name is empty");
  }
}

void check_depth(const OptionList& list, const CheckOptions& options) {
  const bool process = !options.wanted.empty() || !options.command.empty();
  if (options.step && options.command.empty()) {
    refuse("--step needs a program after -- that it can start");
  }
  if (!options.step && list.given("--update")) refuse("--update has a meaning with --step only");
  if (options.timeout && !process) {
    refuse("--timeout has a meaning with -p or a program after -- only");
  }
  if (options.samples && (!process || options.step)) {
    refuse("--samples has a meaning with -p or a program after --, and without --step");
  }
}

}  // namespace

const CommandTexts CheckOptions::kTexts{
    .name = "check",
    .about = "Prove that a writer of labels follows the ABI",
    .usage =
        "labelscope check [OPTIONS] FILE|DIRECTORY...\n"
        "labelscope check [OPTIONS] -p PID|NAME\n"
        "labelscope check [OPTIONS] [--step] -- CMD [ARG...]\n"
        "labelscope check --rules [RULE...]",
    .footer = R"(
Examples:
  labelscope check --strict libcustomlabels.so ./server
  labelscope check -- ./server --self-test
  labelscope check --step --update set_labels -- ./update_labels
  labelscope check --format sarif -o labels.sarif build/
  labelscope check --rules LS031

Exit status: 0 clean, 1 findings (errors; with --strict also warnings), 2 usage, 3 something could not
be checked or publishes no labels, 4 permission. The manuals: man labelscope-check, man labelscope-rules)",
    .takes_command = true};

void CheckOptions::declare(OptionList& list) {
  list.files("Programs, libraries, and directories to search", paths);
  list.group("What to check (one of)");
  wanted.declare(list, "A process: its files, and the labels of its threads");
  list.flag("--rules", "List the rules; with names (LS031), explain them", list_rules);
  list.group("How deep");
  list.flag("--step", "Run the program's label updates one instruction at a time", step);
  list.words("--update", "FUNCTION[:END]",
             "With --step: a function that is one update, or two that begin and end one "
             "(repeatable)",
             updates, NotEmpty{"the function's name"});
  list.word("--samples", "N", "Of a process: how many label sets to read (default 1000)", samples,
            Count{1, kMaxSamples});
  list.word("--timeout", "TIME", "Of a process: end after this time (default 30s; with --step 60s)",
            timeout, parse_timeout);
  list.group("Output");
  list.word("-f,--format", "FORMAT", names_in(kCheckFormats, " or "), format, choice(kCheckFormats),
            "text");
  list.word("-o,--output", "FILE", "File to write, - for stdout", output, NotEmpty{"the file name"},
            "-");
  list.flag("--overwrite", "Replace a file that exists", overwrite);
  list.group("Verdict");
  list.flag("--strict", "Warnings fail, too", strict);
  list.word("--baseline", "FILE",
            "Accept the findings in this file, which --format json has written before", baseline,
            NotEmpty{"the file name"});
  messages.declare(list);
}

void CheckOptions::check(const OptionList& list, const CommandTail& tail) {
  command = tail.command;
  if (list_rules) rules = std::exchange(paths, {});
  check_target(*this);
  check_depth(list, *this);
  if (list_rules && format != CheckFormat::kText && format != CheckFormat::kJson) {
    refuse("--rules has the formats text and json");
  }
  messages.check(list);
}

}  // namespace labelscope::cli
