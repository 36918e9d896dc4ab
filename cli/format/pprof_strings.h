// The string table of a pprof file: every string once, by number; number 0 is the empty string,
// which pprof takes for "not set".
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/format/escape.h"

namespace labelscope::cli {

class PprofStrings {
 public:
  PprofStrings() { intern(""); }

  // Bytes that are not UTF-8 are escaped: one such byte makes strict decoders refuse the whole
  // file. So are control characters: pprof prints what it finds to the terminal.
  std::int64_t intern(std::string_view bytes) {
    return is_printable_ascii(bytes) ? intern_text(bytes) : intern_text(escape_terminal(bytes));
  }

  const std::vector<const std::string*>& in_order() const { return in_order_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  // Nearly every string; saves it the escaping.
  static bool is_printable_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  }

  std::int64_t intern_text(std::string_view text) {
    auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    auto added = numbers_.emplace(text, static_cast<std::int64_t>(in_order_.size())).first;
    in_order_.push_back(&added->first);
    return added->second;
  }

  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> in_order_;  // keys of numbers_, which never move
};

}  // namespace labelscope::cli
