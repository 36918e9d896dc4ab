// CLI11 does the parsing. Its exit codes (105 and up) and its messages for numbers are replaced: a
// usage error is status 2 and one plain sentence.
#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>

#include "base/edit_distance.h"
#include "cli/format/escape.h"
#include "cli/host/exit_status.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

struct Subcommand {
  CommandTexts texts;
  CLI::App* app;
  std::function<Options(const CommandTail&)> read;  // after parsing
};

template <class Its>
Subcommand add_command(CLI::App& app) {
  CLI::App* added = app.add_subcommand(Its::kTexts.name, Its::kTexts.about);
  added->footer(Its::kTexts.footer);
  auto options = std::make_shared<Its>();
  auto list = std::make_shared<OptionList>(*added);
  options->declare(*list);
  return {Its::kTexts, added, [options, list](const CommandTail& tail) -> Options {
            list->read();
            options->check(*list, tail);
            return *options;
          }};
}

// The option that is most like `word`: --sumary is meant to be --summary. Empty: none is like it.
std::string meant_option(const CLI::App& app, std::string_view word) {
  constexpr std::size_t kMostChanges = 2;    // with more, the proposal is mostly another word
  constexpr std::size_t kMostCompared = 64;  // no option is as long; a word may be
  word = word.substr(0, word.find('='));
  std::string closest;
  if (!word.starts_with("--") || word.size() > kMostCompared) return closest;
  std::size_t least = kMostChanges + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t changes = edit_distance(word.substr(2), name);
      if (changes >= least) continue;
      least = changes;
      closest = "--" + name;
    }
  }
  return closest;
}

// Words that are no option and no option's value: mostly a program without the -- in front of it,
// or a process ID without its option.
std::string extras_text(const Subcommand& chosen) {
  std::string words;
  std::string meant;
  bool option = false;
  bool number = true;
  for (const std::string& word : chosen.app->remaining()) {
    option |= word.starts_with('-');
    if (meant.empty()) meant = meant_option(*chosen.app, word);
    number &= word.find_first_not_of("0123456789,") == std::string::npos;
    words += " " + escape_terminal(word);
  }
  std::string advice;
  if (number) {
    advice = "; a process ID goes after -p: labelscope " + std::string(chosen.texts.name) + " -p" +
             words;
  } else if (chosen.texts.takes_command) {
    advice = "; a program to start goes after --, a process ID after -p";
  }
  if (option) advice = meant.empty() ? meant : "; did you mean " + meant + "?";
  return "not expected:" + words + advice;
}

// CLI11's usage line cannot show that a command has several forms.
std::string help_text(const Subcommand& chosen) {
  std::string text = chosen.app->help();
  std::size_t start = text.find("Usage: ");
  std::size_t end = start == std::string::npos ? start : text.find('\n', start);
  if (end != std::string::npos)
    text.replace(start, end - start, std::string("Usage: ") + chosen.texts.usage);
  return text;
}

// The command line as one would type it again, behind `start`.
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

// "help" and "help COMMAND" are "--help" and "COMMAND --help".
std::vector<const char*> without_help_command(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
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
  app.get_formatter()->column_width(34);
  const Subcommand commands[] = {add_command<RecordOptions>(app),  add_command<ReportOptions>(app),
                                 add_command<DiffOptions>(app),    add_command<DumpOptions>(app),
                                 add_command<InspectOptions>(app), add_command<CheckOptions>(app)};
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
  // What follows the first "--" belongs to the command, whatever it looks like.
  const char* const* end = argv + argc;
  const char* const* dashes = std::find(argv, end, std::string_view("--"));
  CommandTail tail;
  tail.command_line = quoted(given, words);
  if (dashes != end) tail.command.assign(dashes + 1, end);
  try {
    if (argc > 1 && argv[1][0] != '-' && chosen == nullptr) {
      refuse("unknown command " + escape_terminal(argv[1]) + "; " + in_words(names, " and ") +
             " are known");
    }
    if (argc > 1 && argv[1][0] == '-' && !is_option_of_all(argv[1])) {
      refuse("a command comes first, " + in_words(names, " or ") + ": labelscope " + names.front() +
             escape_terminal(quoted(argc - 1, argv + 1, " ")));
    }
    if (dashes != end && chosen != nullptr && !chosen->texts.takes_command) {
      refuse(std::string(chosen->texts.name) + " starts no program: -- has no meaning here");
    }
    if (dashes != end && tail.command.empty()) refuse("a program is wanted after --");
    app.parse(static_cast<int>(dashes - argv), argv);
    return chosen->read(tail);
  } catch (const CLI::CallForHelp&) {
    return ParseEnd{chosen == nullptr ? app.help() : help_text(*chosen), "", kExitOk};
  } catch (const CLI::CallForVersion& version) {
    return ParseEnd{std::string(version.what()) + "\n", "", kExitOk};
  } catch (const CLI::ExtrasError& error) {
    return usage_error(chosen == nullptr ? escape_terminal(error.what()) : extras_text(*chosen));
  } catch (const CLI::ParseError& error) {
    return usage_error(escape_terminal(error.what()));
  }
}

}  // namespace labelscope::cli
