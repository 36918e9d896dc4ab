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
Subcommand add_command(CLI::App& app) {
  CLI::App* added = app.add_subcommand(Its::kTexts.name, Its::kTexts.about);
  added->footer(Its::kTexts.footer);
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

// Where descriptions of options begin.
constexpr std::size_t kHelpColumn = 34;

// CLI11 writes each description as one line. Of a terminal as wide as that there is none.
std::string wrapped_help(const std::string& text) {
  constexpr std::size_t kUsualWidth = 100;
  constexpr std::size_t kLeastWidth = kHelpColumn + 26;
  const std::size_t terminal = terminal_width(STDOUT_FILENO);
  const std::size_t width = std::max(terminal == 0 ? kUsualWidth : terminal, kLeastWidth);
  std::string wrapped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    // The names of an option that leave no room are on a line of their own.
    const bool described = line.size() > width && line.starts_with("  ") &&
                           line[kHelpColumn - 1] == ' ' && line[kHelpColumn] != ' ';
    if (!described) {
      wrapped += line + '\n';
      continue;
    }
    std::string start = line.substr(0, kHelpColumn);
    for (const std::string& part : wrap(line.substr(kHelpColumn), width - kHelpColumn, 0)) {
      wrapped += start + part + '\n';
      start.assign(kHelpColumn, ' ');
    }
  }
  return wrapped;
}

// CLI11's usage line cannot show that a command has several forms.
std::string help_text(const Subcommand& chosen) {
  std::string text = wrapped_help(chosen.app->help());
  std::size_t start = text.find("Usage: ");
  std::size_t end = start == std::string::npos ? start : text.find('\n', start);
  if (end != std::string::npos)
    text.replace(start, end - start, std::string("Usage: ") + chosen.texts.usage);
  return text;
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
  app.get_formatter()->column_width(kHelpColumn);
  const Subcommand commands[] = {add_command<RecordOptions>(app),  add_command<ReportOptions>(app),
                                 add_command<DiffOptions>(app),    add_command<DumpOptions>(app),
                                 add_command<InspectOptions>(app), add_command<CheckOptions>(app),
                                 add_command<DoctorOptions>(app)};
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
    return ParseEnd{chosen == nullptr ? app.help() : help_text(*chosen), "", kExitOk};
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
