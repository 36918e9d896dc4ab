#include "cli/process/near_words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostShown = 64;      // bytes of one word in a message
constexpr std::size_t kMostCompared = 128;  // bytes of words whose distance is counted

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// Returns the words that are most like `word`, the nearest first: those with few changes, and those
// of which it is a part.
std::vector<std::string> near(std::string_view word, const std::set<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  if (word.empty() || word.size() > kMostCompared) return {};
  const std::string typed = lower(word);
  for (const std::string& one : known) {
    if (one.size() > kMostCompared) continue;
    const std::string other = lower(one);
    const std::size_t changes = edit_distance(typed, other);
    const bool part = other.find(typed) != std::string::npos;
    if (part || changes <= std::max<std::size_t>(1, typed.size() / 3)) {
      ranked.emplace_back(changes, one);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::string> words;
  words.reserve(ranked.size());
  for (const auto& [changes, one] : ranked) words.push_back(one);
  return words;
}

}  // namespace

std::string shown_word(std::string_view word) {
  return without_middle(escape_terminal(word), kMostShown);
}

std::string suggestions(const std::string& word, const std::set<std::string>& known,
                        bool all_if_none) {
  std::vector<std::string> words = near(word, known);
  if (words.empty() && all_if_none) words.assign(known.begin(), known.end());
  if (words.empty()) return {};
  std::string text = words.size() == 1 ? "; there is " : "; there are ";
  const std::size_t count = std::min(words.size(), kMostSuggested);
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + shown_word(words[i]);
  if (words.size() > count) text += " and " + std::to_string(words.size() - count) + " more";
  return text;
}

}  // namespace labelscope::cli
