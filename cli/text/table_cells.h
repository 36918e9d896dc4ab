// What tables on a terminal are made of.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace labelscope::cli {

// A label's value, escaped. Rows of our own are in parentheses, those of functions begin with
// spaces. A value that looks like one is put in quotes.
std::string shown_value(std::string_view value);

// Names of functions without what makes them long: arguments, template arguments, "(anonymous
// namespace)::"; whole where two of them would look the same.
class ShortNames {
 public:
  void add(const std::string& name);
  const std::string& of(const std::string& name) const;

 private:
  std::map<std::string, std::string> short_;         // by the whole name
  std::map<std::string, std::size_t> how_many_are_;  // by the short one
};

// Cut or filled up to `width` columns.
std::string cell(std::string_view text, std::size_t width, bool unicode);
std::string right(std::string_view text, std::size_t width);

}  // namespace labelscope::cli
