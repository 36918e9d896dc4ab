// Words, names and numbers of a preset's text, for the files that parse it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/malformed.h"
#include "labelscope/result.h"
#include "sources/preset/preset_file.h"

namespace labelscope {

inline std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }
// Removes `what` from the beginning, if it is there.
inline bool take(std::string_view& rest, std::string_view what) {
  if (!rest.starts_with(what)) return false;
  rest.remove_prefix(what.size());
  return true;
}

struct PresetWord {
  std::string_view text;
  bool quoted = false;  // stood between " and "; it may hold blanks
};

// The words of one line, taken from the left.
class PresetWords {
 public:
  // Splits a line at blanks. A comment begins with a word that begins with #.
  static Result<PresetWords> split(std::string_view line);

  bool empty() const { return next_ == all_.size(); }
  // An empty word when there are no more; a quoted one is not taken for a word of the language.
  std::string_view peek() const {
    return empty() || all_[next_].quoted ? std::string_view() : all_[next_].text;
  }
  PresetWord take() { return empty() ? PresetWord{} : all_[next_++]; }
  bool take(std::string_view word) {
    if (empty() || peek() != word) return false;
    ++next_;
    return true;
  }

 private:
  std::vector<PresetWord> all_;
  std::size_t next_ = 0;
};

// Whether it has letters, digits and the characters of `more` only, and is not too long.
bool is_preset_name(std::string_view text, std::string_view more);

// Takes a number or $PARAMETER from the beginning of a text.
Status take_number(std::string_view& rest, PresetNumber& number);
// The same for a whole text.
Result<PresetNumber> whole_number(std::string_view text);

}  // namespace labelscope
