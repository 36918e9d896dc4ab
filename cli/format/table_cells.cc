#include "cli/format/table_cells.h"

#include <algorithm>

#include "cli/format/escape.h"

namespace labelscope::cli {

std::string shown_value(std::string_view value) {
  if (value.empty()) return std::string(kEmptyText);
  std::string safe = escape_terminal(value);
  return safe.front() == '(' || safe.front() == ' ' ? '"' + safe + '"' : safe;
}

std::string cell(std::string_view text, std::size_t width, bool unicode) {
  const std::string_view dots = unicode ? "…" : "...";
  std::string out(text);
  if (count_columns(text) > width) {
    out = first_columns(text, width - count_columns(dots));
    out += dots;
  }
  out.append(width - std::min(width, count_columns(out)), ' ');
  return out;
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, count_columns(text)), ' ') + std::string(text);
}

}  // namespace labelscope::cli
