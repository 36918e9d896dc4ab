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
    // Names of processes and recordings come from anywhere. A right that cannot be given up is not
    // worth a message in the middle of a command line.
    if (!drop_rights(0, std::nullopt)) return ParseEnd{"", "", kExitRuntimeError};
    const std::vector<std::string> typed(argv + 3, argv + argc);
    const auto choices = [&](const std::string& option) {
      for (const Subcommand& each : commands) {
        if (!typed.empty() && typed[0] == each.texts.name) return each.list->choices(option);
      }
      return std::vector<std::string>();
    };
    return ParseEnd{complete_words(app, choices, typed), "", kExitOk};
  }
  std::vector<std::string> names;
  const Subcommand* chosen = nullptr;
  for (const Subcommand& each : commands) {
    names.emplace_back(each.texts.name);
    if (argc > 1 && argv[1] == names.back()) chosen = &each;
  }
  const std::string try_help = "Try: labelscope " +
                               (chosen == nullptr ? "" : std::string(chosen->texts.name) + " ") +
                               "--help\n";
  auto usage_error = [&](const std::string& message) {
    return ParseEnd{"", "labelscope: " + message + "\n" + try_help, kExitUsage};
  };
  // What follows the first "--" belongs to the command, even if it looks like an option.
  const char* const* end = argv + argc;
  const char* const* dashes = std::find(argv, end, std::string_view("--"));
  CommandTail tail;
  tail.command_line = quoted(given, words);
  if (dashes != end) tail.command.assign(dashes + 1, end);
  try {
    if (argc < 2) refuse("a command is wanted: " + in_words(names, " or "));
    if (argv[1][0] != '-' && chosen == nullptr) refuse(unknown_command_text(argv[1], names));
    if (argv[1][0] == '-' && !is_option_of_all(argv[1])) {
      refuse("a command comes first, " + in_words(names, " or ") + ": labelscope " + names.front() +
             escape_terminal(quoted(argc - 1, argv + 1, " ")));
    }
    if (dashes != end && chosen != nullptr && !chosen->texts.takes_command) {
      refuse(std::string(chosen->texts.name) + " starts no program: -- has no meaning here");
    }
    if (dashes != end && tail.command.empty()) refuse("a program is wanted after --");
    app.parse(static_cast<int>(dashes - argv), argv);
    if (const std::string swallowed = swallowed_option_text(*chosen->app); !swallowed.empty()) {
      refuse(swallowed);
    }
    return chosen->read(tail);
  } catch (const CLI::CallForHelp&) {
    return ParseEnd{app.help(), "", kExitOk};
  } catch (const CLI::CallForVersion& version) {
    return ParseEnd{std::string(version.what()) + "\n", "", kExitOk};
  } catch (const CLI::ExtrasError& error) {
    if (chosen == nullptr) return usage_error(escape_terminal(error.what()));
    // Mostly such an option has left its own value as an extra word.
    const std::string swallowed = swallowed_option_text(*chosen->app);
    return usage_error(swallowed.empty() ? extras_text(chosen->texts, *chosen->app) : swallowed);
  } catch (const CLI::ArgumentMismatch& error) {
    return usage_error(
        escape_terminal(mismatch_text(error, chosen == nullptr ? app : *chosen->app)));
  } catch (const CLI::ParseError& error) {
    return usage_error(escape_terminal(error.what()));
  }
}

}  // namespace labelscope::cli
