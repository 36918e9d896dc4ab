// CLI11 does the parsing. Its exit codes (105 and up) and its messages for numbers are replaced: a
// usage error is status 2 and one plain sentence.
#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

#include "cli/format/escape.h"
#include "cli/host/exit_status.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

using Parsers = std::vector<std::unique_ptr<CommandParser>>;

Parsers all_commands() {
  Parsers parsers;
  parsers.push_back(std::make_unique<RecordParser>());
  parsers.push_back(std::make_unique<DumpParser>());
  parsers.push_back(std::make_unique<InspectParser>());
  parsers.push_back(std::make_unique<CheckParser>());
  return parsers;
}

// Words that are no option and no option's value: mostly a program without the -- in front of it,
// or a process ID without its option.
std::string extras_text(const CLI::App& command, const CommandParser& parser) {
  std::string words;
  bool option = false;
  bool number = true;
  for (const std::string& word : command.remaining()) {
    option |= word.starts_with('-');
    number &= word.find_first_not_of("0123456789,") == std::string::npos;
    words += " " + escape_terminal(word);
  }
  std::string advice;
  if (number) {
    advice =
        std::string("; a process ID goes after -p: labelscope ") + parser.name() + " -p" + words;
  } else if (parser.takes_command()) {
    advice = "; a program to start goes after --, a process ID after -p";
  }
  return "labelscope: not expected:" + words + (option ? "" : advice) + "\n";
}

// CLI11's usage line cannot show that a command has several forms.
std::string help_text(const CLI::App& command, const CommandParser& parser) {
  std::string text = command.help();
  std::size_t start = text.find("Usage: ");
  std::size_t end = start == std::string::npos ? start : text.find('\n', start);
  if (end != std::string::npos)
    text.replace(start, end - start, std::string("Usage: ") + parser.usage());
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

// "record", or "record, dump and inspect".
std::string names_of(const Parsers& parsers, const char* last_separator) {
  std::string names = parsers.front()->name();
  for (std::size_t i = 1; i < parsers.size(); ++i) {
    names.append(i + 1 == parsers.size() ? last_separator : ", ").append(parsers[i]->name());
  }
  return names;
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
  const Parsers parsers = all_commands();
  const CommandParser* chosen = nullptr;
  for (const auto& parser : parsers) {
    parser->add_to(app);
    if (argc > 1 && std::string_view(argv[1]) == parser->name()) chosen = parser.get();
  }
  const std::string try_help = "Try: labelscope " +
                               (chosen == nullptr ? "" : std::string(chosen->name()) + " ") +
                               "--help\n";
  // What follows the first "--" belongs to the command, whatever it looks like.
  const char* const* end = argv + argc;
  const char* const* dashes = std::find(argv, end, std::string_view("--"));
  CommandTail tail;
  tail.command_line = quoted(given, words);
  if (dashes != end) tail.command.assign(dashes + 1, end);
  try {
    if (argc > 1 && argv[1][0] != '-' && chosen == nullptr) {
      refuse("unknown command " + escape_terminal(argv[1]) + "; " + names_of(parsers, " and ") +
             " are known");
    }
    if (argc > 1 && argv[1][0] == '-' && !is_option_of_all(argv[1])) {
      refuse("a command comes first, " + names_of(parsers, " or ") + ": labelscope " +
             parsers.front()->name() + escape_terminal(quoted(argc - 1, argv + 1, " ")));
    }
    if (dashes != end && chosen != nullptr && !chosen->takes_command()) {
      refuse(std::string(chosen->name()) + " starts no program: -- has no meaning here");
    }
    if (dashes != end && tail.command.empty()) refuse("a program is wanted after --");
    app.parse(static_cast<int>(dashes - argv), argv);
    return chosen->checked(tail);
  } catch (const CLI::CallForHelp&) {
    return ParseEnd{
        chosen == nullptr ? app.help() : help_text(*app.get_subcommand(chosen->name()), *chosen),
        "", kExitOk};
  } catch (const CLI::CallForVersion& version) {
    return ParseEnd{std::string(version.what()) + "\n", "", kExitOk};
  } catch (const CLI::ExtrasError& error) {
    if (chosen == nullptr)
      return ParseEnd{"", "labelscope: " + escape_terminal(error.what()) + "\n" + try_help,
                      kExitUsage};
    return ParseEnd{"", extras_text(*app.get_subcommand(chosen->name()), *chosen) + try_help,
                    kExitUsage};
  } catch (const CLI::ParseError& error) {
    return ParseEnd{"", "labelscope: " + escape_terminal(error.what()) + "\n" + try_help,
                    kExitUsage};
  }
}

}  // namespace labelscope::cli
