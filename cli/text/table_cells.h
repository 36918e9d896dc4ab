// The cells of tables on a terminal.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace labelscope::cli {

// The value of a label into which all others were put that are not kept (profile/value_caps.h).
inline constexpr std::string_view kOtherValues = "(other)";

// Returns a label's value, escaped. Our own rows are in parentheses, those of functions begin with
// spaces. A value that looks like one of these is put in quotes, unless it is kOtherValues.
std::string shown_value(std::string_view value);

// Names of functions without the parts that make them long: arguments, template arguments,
// "(anonymous namespace)::". They stay whole if two of them would look the same.
class ShortNames {
 public:
  void add(const std::string& name);
  const std::string& of(const std::string& name) const;

 private:
  std::map<std::string, std::string> short_;         // by the whole name
  std::map<std::string, std::size_t> how_many_are_;  // by the short name
};

// Cuts or fills text to `width` columns.
std::string cell(std::string_view text, std::size_t width, bool unicode);
// If no terminal limits a line, a column of texts is at most as wide as this: one long text must
// not widen all other lines.
inline constexpr std::size_t kWidestText = 48;
// Fills text up and never cuts it.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

}  // namespace labelscope::cli
