// Which words of those that there are somebody may have meant.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace labelscope::cli {

// So many words or numbers are suggested.
inline constexpr std::size_t kMostSuggested = 5;

// Returns a word for a message: escaped, and without its middle if it is long.
std::string shown_word(std::string_view word);
// Returns "; there are a, b and 3 more", of the words that are near. If none is, it is of all
// words, or empty.
std::string suggestions(const std::string& word, const std::set<std::string>& known,
                        bool all_if_none);

}  // namespace labelscope::cli
