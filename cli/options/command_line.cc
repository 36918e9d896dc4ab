// CLI11 does the parsing. Its exit codes (105 and up) and its messages for numbers are replaced: a
// usage error is status 2 and one plain sentence.
#include "cli/options/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>

#include "cli/host/exit_status.h"
#include "cli/host/rights.h"
#include "cli/host/terminal.h"
#include "cli/options/advice.h"
#include "cli/options/completion.h"
#include "cli/options/help_layout.h"
#include "cli/options/values.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

struct Subcommand {
  CommandTexts texts;
  CLI::App* app;
  std::function<Options(const CommandTail&)> read;  // called after parsing
  std::shared_ptr<OptionList> list;
};

template <class Its>
Subcommand add_command(CLI::App& app, HelpLayout& layout) {
  CLI::App* added = app.add_subcommand(Its::kTexts.name, Its::kTexts.about);
  added->footer(Its::kTexts.footer);
  layout.set_usage(Its::kTexts.name, Its::kTexts.usage);
  auto options = std::make_shared<Its>();
  auto list = std::make_shared<OptionList>(*added);
  options->declare(*list);
  return {Its::kTexts, added,
          [options, list](const CommandTail& tail) -> Options {
            list->read();
            options->check(*list, tail);
            return *options;
          },
          list};
}

// Help that goes into a file or a pager is as wide as this.
constexpr std::size_t kUsualWidth = 100;

std::shared_ptr<HelpLayout> help_layout() {
  const std::size_t terminal = terminal_width(STDOUT_FILENO);
  return std::make_shared<HelpLayout>(terminal == 0 ? kUsualWidth : terminal);
}

// The command line as a user would type it again, after `start`.
std::string quoted(int argc, const char* const* argv, std::string start = {}) {
  std::string line = std::move(start);
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    if (i > 0) line += ' ';
    bool plain = !word.empty() &&
                 word.find_first_not_of(
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%") ==
                     std::string_view::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

// Makes "--help", "COMMAND --help" and "--version" of "help", "help COMMAND" and "version".
std::vector<const char*> without_help_command(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() == 2 && std::string_view(words[1]) == "version") words[1] = "--version";
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.insert(words.begin() + std::min<std::ptrdiff_t>(std::ssize(words), 2), "--help");
  return words;
}

bool is_option_of_all(std::string_view word) {
  return word == "-h" || word == "--help" || word == "-V" || word == "--version";
}

// Returns what can stand next in a command line that is typed: the words of `labelscope complete`.
ParseEnd complete(const CLI::App& app, std::span<const Subcommand> commands,
                  const std::vector<std::string>& typed) {
  // Names of processes and recordings come from anywhere. A right that cannot be given up is not
  // worth a message in the middle of a command line.
  if (!drop_rights(0, std::nullopt)) return ParseEnd{"", "", kExitRuntimeError};
  const auto choices = [&](const std::string& option) {
    for (const Subcommand& each : commands) {
      if (!typed.empty() && typed[0] == each.texts.name) return each.list->choices(option);
    }
    return std::vector<std::string>();
  };
  return ParseEnd{complete_words(app, choices, typed), "", kExitOk};
}

// Refuses what CLI11 would not, or not in good words. `dashes` is where the first "--" is, or the
// end.
void check_words(std::span<const char* const> words, std::size_t dashes, const Subcommand* chosen,
                 const std::vector<std::string>& names) {
  if (words.size() < 2) refuse("a command is wanted: " + in_words(names, " or "));
  const std::string_view first = words[1];
  if (!first.starts_with('-') && chosen == nullptr) {
    refuse(unknown_command_text(words[1], names));
  }
  if (first.starts_with('-') && !is_option_of_all(first)) {
    refuse("a command comes first, " + in_words(names, " or ") + ": labelscope " + names.front() +
           escape_terminal(quoted(static_cast<int>(words.size()) - 1, words.data() + 1, " ")));
  }
  if (dashes == words.size()) return;
  if (chosen != nullptr && !chosen->texts.takes_command) {
    refuse(std::string(chosen->texts.name) + " starts no program: -- has no meaning here");
  }
  if (dashes + 1 == words.size()) refuse("a program is wanted after --");
}

// Returns what is wrong with words that CLI11 does not accept. `chosen` may be null.
std::string problem_text(const CLI::ParseError& error, const CLI::App& app,
                         const Subcommand* chosen) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && chosen != nullptr) {
    // Mostly such an option has left its own value as an extra word.
    const std::string swallowed = swallowed_option_text(*chosen->app);
    return swallowed.empty() ? extras_text(chosen->texts, *chosen->app) : swallowed;
  }
  if (const auto* mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    return escape_terminal(mismatch_text(*mismatch, chosen == nullptr ? app : *chosen->app));
  }
  return escape_terminal(error.what());
}

}  // namespace

std::variant<Options, ParseEnd> parse_command_line(int given, const char* const* words) {
  const std::vector<const char*> arguments = without_help_command(given, words);
  const int argc = static_cast<int>(arguments.size());
  const char* const* argv = arguments.data();
  CLI::App app{"Where the time of a running process goes, by label.", "labelscope"};
  app.set_version_flag("-V,--version", "labelscope " LABELSCOPE_VERSION);
  app.require_subcommand(1);
  const std::shared_ptr<HelpLayout> layout = help_layout();
  app.formatter(layout);
  const Subcommand commands[] = {
      add_command<RecordOptions>(app, *layout), add_command<ReportOptions>(app, *layout),
      add_command<DiffOptions>(app, *layout),   add_command<DumpOptions>(app, *layout),
      add_command<InspectOptions>(app, *layout), add_command<CheckOptions>(app, *layout),
      add_command<DoctorOptions>(app, *layout)};
  if (argc > 2 && std::string_view(argv[1]) == "complete" && std::string_view(argv[2]) == "--") {
    return complete(app, commands, {argv + 3, argv + argc});
  }
  std::vector<std::string> names;
  const Subcommand* chosen = nullptr;
  for (const Subcommand& each : commands) {
    names.emplace_back(each.texts.name);
    if (argc > 1 && argv[1] == names.back()) chosen = &each;
  }
  // What follows the first "--" belongs to the command, even if it looks like an option.
  const char* const* end = argv + argc;
  const char* const* dashes = std::find(argv, end, std::string_view("--"));
  CommandTail tail;
  tail.command_line = quoted(given, words);
  if (dashes != end) tail.command.assign(dashes + 1, end);
  try {
    check_words(arguments, static_cast<std::size_t>(dashes - argv), chosen, names);
    app.parse(static_cast<int>(dashes - argv), argv);
    if (const std::string swallowed = swallowed_option_text(*chosen->app); !swallowed.empty()) {
      refuse(swallowed);
    }
    return chosen->read(tail);
  } catch (const CLI::CallForHelp&) {
    return ParseEnd{app.help(), "", kExitOk};
  } catch (const CLI::CallForVersion& version) {
    return ParseEnd{std::string(version.what()) + "\n", "", kExitOk};
  } catch (const CLI::ParseError& error) {
    const std::string command = chosen == nullptr ? "" : std::string(chosen->texts.name) + " ";
    return ParseEnd{"",
                    "labelscope: " + problem_text(error, app, chosen) +
                        "\nTry: labelscope " + command + "--help\n",
                    kExitUsage};
  }
}

}  // namespace labelscope::cli
