// This parses specs of variables. The key comes last and may hold anything; a module's name may
// hold "+" (libstdc++.so.6), so it is split off before the offsets are looked for. A colon that
// stands alone divides; two belong to a name as C++ writes it.
#include "labelscope/variable_spec.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>

#include "base/malformed.h"

namespace labelscope {
namespace {

struct Type {
  std::string_view name;
  ls_variable_kind kind;
  std::uint32_t size;  // 0 if a number of bytes follows the name
};
// A pointer and a length of 16 bits. A preset reads them apart; the walk of a variable does not.
constexpr std::uint32_t kShortSlice = 10;
constexpr Type kTypes[] = {{"u8", LS_VARIABLE_UNSIGNED, 1},  {"u16", LS_VARIABLE_UNSIGNED, 2},
                           {"u32", LS_VARIABLE_UNSIGNED, 4}, {"u64", LS_VARIABLE_UNSIGNED, 8},
                           {"i8", LS_VARIABLE_SIGNED, 1},    {"i16", LS_VARIABLE_SIGNED, 2},
                           {"i32", LS_VARIABLE_SIGNED, 4},   {"i64", LS_VARIABLE_SIGNED, 8},
                           {"f32", LS_VARIABLE_FLOAT, 4},    {"f64", LS_VARIABLE_FLOAT, 8},
                           {"bool", LS_VARIABLE_BOOL, 1},    {"hex", LS_VARIABLE_HEX, 0},
                           {"str", LS_VARIABLE_ARRAY, 0},    {"cstr", LS_VARIABLE_CSTRING, 8},
                           {"*str", LS_VARIABLE_CSTRING, 8}, {"ptrlen", LS_VARIABLE_SLICE, 16},
                           {"lenptr", LS_VARIABLE_VIEW, 16}, {"text", LS_VARIABLE_TEXT, 1},
                           {"ptrlen16", LS_VARIABLE_SLICE, kShortSlice}};

// The last colon that stands alone.
std::size_t last_divider(std::string_view text) {
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] != ':') continue;
    if (at == 0 || text[at - 1] != ':') return at;
    --at;
  }
  return std::string_view::npos;
}

bool is_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  return !text.empty() &&
         text.find_first_not_of(hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") ==
             std::string_view::npos;
}

// Reads a decimal number, or a hexadecimal one behind 0x.
template <class T>
std::optional<T> number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  T value{};
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Status parse_type(std::string_view text, ls_variable& walk) {
  const auto type = parse_variable_type(text);
  if (!type) return type.error();
  if (type->size == kShortSlice && type->kind == LS_VARIABLE_SLICE) {
    return malformed("the type " + std::string(text) + " is one of presets alone");
  }
  walk.kind = static_cast<std::uint8_t>(type->kind);
  walk.size = type->size;
  return {};
}

// Parses "+8->->+16": what is added before the first pointer is read, and behind each.
Status parse_way(std::string_view text, ls_variable& walk) {
  constexpr std::string_view kArrow = "->";
  for (;;) {
    const std::size_t arrow = std::min(text.find(kArrow), text.size());
    std::string_view offset = text.substr(0, arrow);
    if (offset.starts_with('+')) offset.remove_prefix(1);
    if (arrow != 0) {
      const auto value = number<std::int32_t>(offset);
      if (!value && is_number(offset)) {
        return malformed("the offset " + std::string(offset) + " is too large: at most " +
                         std::to_string(INT32_MAX));
      }
      if (!value) {
        return malformed("\"" + std::string(text.substr(0, arrow)) +
                         "\" is no offset: +N or ->N with a number of bytes, like +8 or ->0x10");
      }
      walk.offset[walk.hops] = *value;
    }
    text.remove_prefix(arrow);
    if (text.empty()) return {};
    text.remove_prefix(kArrow.size());
    if (walk.hops == LS_VARIABLE_HOPS) {
      return malformed("more than " + std::to_string(LS_VARIABLE_HOPS) + " pointers (->)");
    }
    ++walk.hops;
  }
}

}  // namespace

std::string variable_types() {
  std::string names;
  for (const Type& type : kTypes) {
    if (type.size == kShortSlice) continue;
    names += (names.empty() ? "" : ", ") + std::string(type.name) + (type.size == 0 ? "N" : "");
  }
  return names;
}

Result<VariableType> parse_variable_type(std::string_view text) {
  for (const Type& type : kTypes) {
    if (type.size != 0 ? text != type.name : !text.starts_with(type.name)) continue;
    if (type.size != 0) return VariableType{type.kind, type.size};
    const std::string_view digits = text.substr(type.name.size());
    const auto size = number<std::int32_t>(digits);
    if (is_number(digits) && (!size || *size > LS_VARIABLE_MAX_BYTES)) {
      return malformed("the type " + std::string(text) + " is too large: at most " +
                       std::to_string(LS_VARIABLE_MAX_BYTES) + " bytes are read");
    }
    if (!size || *size == 0) {
      return malformed("the type " + std::string(type.name) +
                       "N wants a number of bytes from 1 to " +
                       std::to_string(LS_VARIABLE_MAX_BYTES));
    }
    return VariableType{type.kind, static_cast<std::uint32_t>(*size)};
  }
  return malformed((text.empty() ? "the type is missing" : "there is no such type") +
                   std::string("; the types are ") + variable_types());
}

Result<VariableSpec> parse_variable_spec(std::string_view text) {
  VariableSpec spec;
  std::string_view rest = text.substr(0, text.find('='));
  if (rest.size() < text.size()) {
    spec.key = text.substr(rest.size() + 1);
    if (spec.key.empty()) return malformed("the label key behind = is empty");
  }
  if (rest.starts_with('@')) {
    if (rest != kTitleVariable) {
      return malformed("there is no " + std::string(rest) + ", only " +
                       std::string(kTitleVariable));
    }
    spec.symbol = spec.text = rest;
    spec.walk.kind = LS_VARIABLE_TEXT;
    if (spec.key.empty()) spec.key = rest.substr(1);
    return spec;
  }
  const std::size_t last = last_divider(rest);
  // No spec ends with "-", but a shell may have left that of "SYMBOL->+8:u64".
  if (rest.ends_with('-')) {
    return malformed(
        "the type is missing, and a - is at the end: put it all into quotes, like "
        "'SYMBOL->+8:u64'; without them a shell takes > and what follows for the name of a file");
  }
  if (last == std::string_view::npos) {
    return malformed("the type is missing: SYMBOL:TYPE is wanted; the types are " +
                     variable_types());
  }
  if (Status type = parse_type(rest.substr(last + 1), spec.walk); !type) {
    return std::move(type).error();
  }
  const std::string_view type = rest.substr(last);
  rest = rest.substr(0, last);
  if (const std::size_t colon = last_divider(rest); colon != std::string_view::npos) {
    spec.module = rest.substr(0, colon);
    if (spec.module.empty()) return malformed("the module in front of the first : is empty");
    rest.remove_prefix(colon + 1);
  }
  spec.text.append(rest).append(type);
  const std::size_t way = std::min({rest.find('+'), rest.find("->"), rest.size()});
  spec.symbol = rest.substr(0, way);
  if (spec.symbol.empty()) return malformed("the symbol is missing: SYMBOL:TYPE is wanted");
  if (Status steps = parse_way(rest.substr(way), spec.walk); !steps) {
    return std::move(steps).error();
  }
  if (spec.key.empty()) spec.key = spec.symbol;
  return spec;
}

}  // namespace labelscope
