// This is a variable that the user names as a label, for programs that have no label ABI. It is
// thread-local, or one of the process, which then labels the first thread alone:
//
//   [MODULE:]SYMBOL[+N][->[+]N...]:TYPE[=KEY]
//
//   request_id:u64                     a number
//   libshop.so:current->+16:cstr=user  *(char**)(current + 16), where `current` is a pointer
//   @title[=KEY]                       the process's title: what it has for its first argument now
//   shop::current->:u64                as C++ writes it
//
// Planner finds the variable (plan.h), and its value is a label like any other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/variable_type.h"

namespace labelscope {

inline constexpr std::string_view kTitleVariable = "@title";

struct VariableSpec {
  // the file's name, with or without its version, or its path; empty for any file
  std::string module;
  std::string symbol;  // as it stands in the symbol table, or as C++ writes it
  ls_variable walk{};  // the planner sets `index`
  std::string key;     // the label's key
  std::string text;    // the spec without module and key: "current->+16:cstr"
};

// Parses a spec. The context of kMalformed is what is wrong, and what there is.
Result<VariableSpec> parse_variable_spec(std::string_view text);

// How the bytes of a value are understood, and how many there are.
struct VariableType {
  ls_variable_kind kind{};
  std::uint32_t size = 0;
};
// Parses "u64", "cstr" or "hex16".
Result<VariableType> parse_variable_type(std::string_view text);

// Returns the types for a help text: "u8, u16, ..."
std::string variable_types();

// Labels' keys by ls_variable::index.
using VariableKeys = std::vector<std::string>;

}  // namespace labelscope
