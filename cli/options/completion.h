// This finds what a shell may complete a command line with. The shells' own scripts (completions/)
// ask the program, which knows its options and what they take, so that no list of them becomes
// stale:
//
//   labelscope complete -- record -p ngi          the last word is the one that is being typed
//   nginx<TAB>3 processes                         a candidate in each line, and what it is
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace labelscope::cli {

// Returns the words that an option takes, by its first name ("--mode"); none if it takes any.
using ChoicesOf = std::function<std::vector<std::string>(const std::string& option)>;

// `words` is what has been typed behind the program's name. It returns nothing where files are
// wanted, or what only the user knows: then shells complete names of files.
std::string complete_words(const CLI::App& app, const ChoicesOf& choices,
                           std::span<const std::string> words);

}  // namespace labelscope::cli
