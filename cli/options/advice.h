// What somebody meant who typed something that labelscope does not know: a slip of the hand, or the
// habit of another profiler. Each is a sentence to go with a usage error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ArgumentMismatch;
}  // namespace CLI

namespace labelscope::cli {

struct CommandTexts;

// Of the commands `known`: "unknown command recrod; did you mean record?"
std::string unknown_command_text(std::string_view word, const std::vector<std::string>& known);

// Of the words in app.remaining(), which are no option and no option's value: mostly a program
// without the -- in front of it, or a process ID without its option.
std::string extras_text(const CommandTexts& texts, const CLI::App& app);

// "--duration: a value is wanted, and -p is an option"; empty where no option has taken another as
// its value.
std::string swallowed_option_text(const CLI::App& app);

// Of an option that has no value, or of one that takes none and was given one.
std::string mismatch_text(const CLI::ArgumentMismatch& error, const CLI::App& app);

}  // namespace labelscope::cli
