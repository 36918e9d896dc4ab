#include "cli/dump/wrap.h"

#include <algorithm>

#include "cli/format/escape.h"

namespace labelscope::cli {

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  constexpr std::size_t kMore = 4;
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines{std::string(text.substr(0, indent))};
  std::size_t length = indent;
  bool begun = false;  // the line has a word
  for (std::string_view rest = text.substr(indent); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' ', 1), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    if (width > 0 && begun && length + count_columns(word) > width) {
      lines.emplace_back(indent + kMore, ' ');
      length = indent + kMore;
      word.remove_prefix(1);
    }
    lines.back() += word;
    length += count_columns(word);
    begun = true;
  }
  return lines;
}

}  // namespace labelscope::cli
