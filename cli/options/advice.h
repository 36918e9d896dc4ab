// Guesses what the user meant by a word that labelscope does not know: a typing error, or a habit
// from another profiler. Each guess is a sentence that goes with a usage error.
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

// Returns the sentence about a command that is none of `known`: "unknown command recrod; did you
// mean record?"
std::string unknown_command_text(std::string_view word, const std::vector<std::string>& known);

// Returns the sentence about the words in app.remaining(), which are no options and no values of
// options: mostly a program without the -- in front of it, or a process ID without its option.
std::string extras_text(const CommandTexts& texts, const CLI::App& app);

// "--duration: a value is wanted, and -p is an option"; empty if no option has taken another as its
// value.
std::string swallowed_option_text(const CLI::App& app);

// Returns the sentence about an option that lacks its value, or has one and takes none.
std::string mismatch_text(const CLI::ArgumentMismatch& error, const CLI::App& app);

}  // namespace labelscope::cli
