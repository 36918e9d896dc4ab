#include "cli/profile/value_names.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "elf/regular_file.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {
namespace {

// Tables and frames of flame graphs show about so much of a name.
constexpr std::size_t kMostNameLength = 200;

// Reads one column after the other, and counts lines for messages.
class Columns {
 public:
  explicit Columns(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::size_t line() const { return line_; }

  // Takes what stands before one of the characters of `ends`, or before the end of the line. The
  // end is consumed; ended_by() has it.
  std::optional<std::string> take(std::string_view ends) {
    std::string column;
    if (!at_end() && text_[at_] == '"') {
      if (!take_quoted(column)) return std::nullopt;
    }
    while (!at_end()) {
      const char next = text_[at_++];
      if (next == '\n') ++line_;
      if (next == '\n' || ends.find(next) != std::string_view::npos) {
        ended_by_ = next;
        return column;
      }
      column += next;
    }
    ended_by_ = '\n';
    return column;
  }
  char ended_by() const { return ended_by_; }

 private:
  bool take_quoted(std::string& column) {
    ++at_;
    while (!at_end()) {
      const char next = text_[at_++];
      if (next == '\n') ++line_;
      if (next == '"') {
        if (at_end() || text_[at_] != '"') return true;
        ++at_;
      }
      column += next;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  char ended_by_ = '\n';
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Makes one line of a text, and cuts it where a character of UTF-8 begins.
std::string shown_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (!is_space(c)) {
      name += c;
    } else if (!name.empty() && name.back() != ' ') {
      name += ' ';
    }
  }
  if (!name.empty() && name.back() == ' ') name.pop_back();
  if (name.size() <= kMostNameLength) return name;
  std::size_t end = kMostNameLength;
  while (end > 0 && (static_cast<std::uint8_t>(name[end]) & 0xC0) == 0x80) --end;
  name.resize(end);
  return name + "...";
}

Error at_line(std::size_t line, const std::string& what) {
  return {ErrorCode::kMalformed, "line " + std::to_string(line) + ": " + what};
}

}  // namespace

Result<ValueNames> parse_value_names(std::string_view text) {
  ValueNames names;
  Columns columns(text);
  while (!columns.at_end()) {
    const std::size_t line = columns.line();
    const auto value = columns.take("\t,");
    if (!value) return at_line(line, "the quotation mark is never closed");
    if (columns.ended_by() == '\n') {
      if (std::ranges::all_of(*value, is_space)) continue;
      return at_line(line, "it has one column; wanted are a value, a tab or a comma, and its name");
    }
    const auto name = columns.take({});
    if (!name) return at_line(line, "the quotation mark is never closed");
    std::string shown = shown_name(*name);
    if (value->empty()) return at_line(line, "the value before the tab or comma is empty");
    if (shown.empty()) return at_line(line, "the name behind the tab or comma is empty");
    names.try_emplace(*value, std::move(shown));
  }
  return names;
}

Result<ValueNames> read_value_names(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return system_error(errno, "the file cannot be opened");
  // One byte more than a file may have shows that there is more.
  const auto text = read_up_to(file, kMostNameBytes + 1);
  if (!text) return Error{text.error().code, "the file " + text.error().context};
  if (text->size() > kMostNameBytes) {
    return Error{ErrorCode::kLimit, "it has more than " + std::to_string(kMostNameBytes >> 20) +
                                        " MiB; leave out values that no label has"};
  }
  return parse_value_names(*text);
}

}  // namespace labelscope::cli
