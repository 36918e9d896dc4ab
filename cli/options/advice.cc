// Tables of other profilers' commands and options, and the distance between words.
#include "cli/options/advice.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/options/option_list.h"
#include "cli/options/values.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostCompared = 64;  // no name is as long, but a typed word may be

struct Habit {
  std::string_view word;
  std::string_view answer;
};

// These are commands of perf, py-spy and rbspy.
constexpr Habit kForeignCommands[] = {
    {"top", "there is no live view: labelscope record -p PID -d 5 shows where 5 seconds went"},
    {"script", "labelscope report shows what a recording holds"},
    {"snapshot", "labelscope dump -p PID shows all threads now"},
    {"run", "labelscope record -- CMD starts a program and records it"},
};

// perf record, perf script, py-spy record and samply record have these options, and labelscope
// record has not.
constexpr Habit kForeignOptions[] = {
    {"-g", "stacks are taken without -g; --call-graph says how"},
    {"-a", "processes are recorded, not the whole machine: -p PID, -p NAME or --cgroup PATH"},
    {"--all-cpus", "processes are recorded, not the whole machine: -p PID[,PID]"},
    {"-t", "all threads of a process are recorded: -p PID; --summary thread_id shows each"},
    {"--tid", "all threads of a process are recorded: -p PID; --summary thread_id shows each"},
    {"-u", "processes are named by their IDs: -p \"$(pgrep -u USER)\""},
    {"--uid", "processes are named by their IDs: -p \"$(pgrep -u USER)\""},
    {"--user", "processes are named by their IDs: -p \"$(pgrep -u USER)\""},
    {"--offcpu", "--mode offcpu shows where threads wait"},
    {"--off-cpu", "--mode offcpu shows where threads wait"},
    {"--wall", "--mode wall has the time of threads that wait, too"},
    {"--gil", "--mode wall --summary wait shows what threads wait for; Python's lock is a futex"},
    {"-e",
     "the event cannot be chosen: --mode cpu samples threads that run, --mode offcpu "
     "those that wait, --mode wall all"},
    {"--event",
     "the event cannot be chosen: --mode cpu samples threads that run, --mode offcpu "
     "those that wait, --mode wall all"},
    {"-c", "-F HZ says how often samples are taken"},
    {"--count", "-F HZ says how often samples are taken"},
    {"-r", "-F HZ says how often samples are taken"},
    {"--rate", "-F HZ says how often samples are taken"},
    {"--freq", "-F HZ says how often samples are taken"},
    {"-i", "--no-children leaves child processes out"},
    {"--no-inherit", "--no-children leaves child processes out"},
    {"--no-inline", "--no-debug-info leaves inlined calls and lines out"},
    {"-s", "child processes are recorded without -s; --no-children leaves them out"},
    {"--subprocesses", "child processes are recorded in any case; --no-children leaves them out"},
    {"--time", "-d TIME says how long"},
    {"--seconds", "-d TIME says how long"},
    {"--timeout", "-d TIME says how long"},
};

template <std::size_t N>
std::string answer_to(const Habit (&habits)[N], std::string_view word) {
  const auto* found = std::find_if(std::begin(habits), std::end(habits),
                                   [&](const Habit& habit) { return habit.word == word; });
  return found == std::end(habits) ? std::string() : std::string(found->answer);
}

// Returns the word of `known` that is most like `word`, or the only one that begins like it. Empty:
// there is none.
std::string meant(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kMostChanges = 2;  // with more, the proposal would mostly be a wrong word
  constexpr std::size_t kLeastStart = 2;   // in letters
  std::string closest;
  if (word.empty() || word.size() > kMostCompared) return closest;
  std::size_t least = std::min(kMostChanges + 1, word.size());
  for (const std::string& name : known) {
    const std::size_t changes = edit_distance(word, name);
    if (changes >= least) continue;
    least = changes;
    closest = name;
  }
  if (!closest.empty() || word.size() < kLeastStart) return closest;
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (std::ranges::count_if(known, begins) == 1) closest = *std::ranges::find_if(known, begins);
  return closest;
}

// --sumary means --summary, for example.
std::string meant_option(const CLI::App& app, std::string_view word) {
  word = word.substr(0, word.find('='));
  if (!word.starts_with("--")) return {};
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::string name = meant(word.substr(2), names);
  return name.empty() ? name : "--" + name;
}

// The sentence about unknown options; empty if there are none.
std::string options_advice(const CommandTexts& texts, const CLI::App& app,
                           const std::vector<std::string>& words) {
  std::string closest;
  bool option = false;
  for (const std::string& word : words) {
    if (!word.starts_with('-')) continue;
    option = true;
    if (texts.records) {
      // -t5 and -g1 mean -t and -g.
      const std::string name =
          word.substr(0, word.starts_with("--") ? word.find('=') : std::size_t{2});
      if (std::string answer = answer_to(kForeignOptions, name); !answer.empty()) return answer;
    }
    if (closest.empty()) closest = meant_option(app, word);
  }
  if (!option) return {};
  return closest.empty() ? "there is no such option" : "did you mean " + closest + "?";
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789,") == std::string::npos;
}

}  // namespace

std::string unknown_command_text(std::string_view word, const std::vector<std::string>& known) {
  const std::string closest = meant(word, known);
  const std::string answer = answer_to(kForeignCommands, word);
  return "unknown command " + escape_terminal(word) + "; " +
         (!answer.empty()    ? answer
          : !closest.empty() ? "did you mean " + closest + "?"
                             : in_words(known, " and ") + " are known");
}

std::string extras_text(const CommandTexts& texts, const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  std::string typed;
  for (const std::string& word : words) typed += " " + escape_terminal(word);
  std::string problem = "not expected:" + typed;
  if (std::string advice = options_advice(texts, app, words); !advice.empty()) {
    return problem + "; " + advice;
  }
  const CLI::Option* pid = app.get_option_no_throw("--pid");
  const bool has_pid = pid != nullptr && pid->count() > 0;
  if (pid != nullptr && std::ranges::all_of(words, is_number)) {
    std::string ids;
    const auto join = [&](const std::string& word) { ids += (ids.empty() ? "" : ",") + word; };
    if (has_pid) std::ranges::for_each(pid->results(), join);
    std::ranges::for_each(words, join);
    return problem + "; " +
           (has_pid ? "several process IDs have commas in between" : "a process ID goes after -p") +
           ": labelscope " + texts.name + " -p " + escape_terminal(ids);
  }
  if (!texts.takes_command) return problem;
  // For example: perf record -p 4242 sleep 10
  if (has_pid && words.size() == 2 && words[0] == "sleep") {
    return problem + "; -d " + escape_terminal(words[1]) + " says how long";
  }
  return problem + "; a program to start goes after --, a process ID after -p";
}

std::string swallowed_option_text(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& word : option->results()) {
      if (word.size() < 2 || word[0] != '-' || option->get_items_expected_max() == 0) continue;
      if (app.get_option_no_throw(word) == nullptr) continue;
      return option->get_name() + ": a value is wanted, and " + word + " is an option";
    }
  }
  return {};
}

std::string mismatch_text(const CLI::ArgumentMismatch& error, const CLI::App& app) {
  // CLI11 begins with the name of the option, and drops the dashes of a flag.
  const std::string_view what = error.what();
  std::string name(what.substr(0, what.find_first_of(": ")));
  if (!name.starts_with('-')) name.insert(0, "--");
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return std::string(what);
  if (option->get_items_expected_max() == 0) return name + " takes no value";
  return name + ": a value is wanted, like " + name + " " + option->get_type_name();
}

}  // namespace labelscope::cli
