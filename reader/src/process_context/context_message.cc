// parse_context_message() returns everything or nothing, because half a key map would name keys
// wrongly.
#include "process_context/context_message.h"

#include <array>
#include <bit>
#include <cstdio>
#include <map>
#include <string_view>

#include "base/text.h"
#include "process_context/wire_walker.h"

namespace labelscope {
namespace {

using Bytes = WireWalker::Bytes;
// The last value of each key.
using Values = std::map<std::string_view, Bytes>;

constexpr std::string_view kSchema = "threadlocal.schema_version";
constexpr std::string_view kKeyMap = "threadlocal.attribute_key_map";
constexpr std::string_view kOfThreads = "threadlocal.";

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string double_text(std::uint64_t bits) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.17g", std::bit_cast<double>(bits));
  return text.data();
}

// Returns false if this is no KeyValue.
bool add_value(Bytes message, Values& values) {
  std::string_view key;
  Bytes value;
  WireWalker fields(message);
  while (fields.next()) {
    if (fields.field == 1 && fields.has_bytes) key = text_of(fields.bytes);
    if (fields.field == 2 && fields.has_bytes) value = fields.bytes;
  }
  // It may have no key, but a number into a table of strings, which no process context has.
  if (!key.empty()) values[key] = value;
  return !fields.broken() && values.size() <= kMostAttributes;
}

bool add_values(Bytes resource, Values& values) {
  WireWalker fields(resource);
  while (fields.next()) {
    if (fields.field == 1 && fields.has_bytes && !add_value(fields.bytes, values)) return false;
  }
  return !fields.broken();
}

struct Value {
  std::optional<std::string> text;
  std::optional<std::int64_t> number;
  std::optional<Bytes> array;
};

// Returns nothing if this is no AnyValue.
std::optional<Value> parse_value(Bytes message) {
  Value value;
  WireWalker fields(message);
  while (fields.next()) {
    value = {};  // the last value of a oneof counts
    if (fields.has_bytes) {
      if (fields.field == 1) value.text = text_of(fields.bytes);
      if (fields.field == 5) value.array = fields.bytes;
      if (fields.field == 7) value.text = hex_bytes(fields.bytes);
    } else {
      if (fields.field == 2) value.text = fields.number != 0 ? "true" : "false";
      if (fields.field == 3) {
        value.number = static_cast<std::int64_t>(fields.number);
        value.text = std::to_string(*value.number);
      }
      if (fields.field == 4) value.text = double_text(fields.number);
    }
  }
  if (fields.broken()) return std::nullopt;
  return value;
}

// A key that is not text, or is too long, is left empty, so that the others keep their numbers.
std::optional<std::vector<std::string>> parse_key_map(Bytes array, std::size_t& left_out) {
  std::vector<std::string> keys;
  WireWalker fields(array);
  while (fields.next()) {
    if (fields.field != 1 || !fields.has_bytes) continue;
    auto value = parse_value(fields.bytes);
    if (!value) return std::nullopt;
    const bool usable = value->text && value->text->size() <= kLongestText;
    if (!usable || keys.size() == kMostKeys) ++left_out;
    if (keys.size() == kMostKeys) continue;
    keys.push_back(usable ? *std::move(value->text) : std::string());
  }
  if (fields.broken()) return std::nullopt;
  return keys;
}

}  // namespace

std::optional<ContextMessage> parse_context_message(std::span<const std::byte> payload) {
  Values values;
  Values own;
  WireWalker fields(payload);
  while (fields.next()) {
    if (!fields.has_bytes) continue;
    if (fields.field == 1 && !add_values(fields.bytes, values)) return std::nullopt;
    if (fields.field == 2 && !add_value(fields.bytes, own)) return std::nullopt;
  }
  if (fields.broken()) return std::nullopt;
  for (const auto& [key, value] : own) values[key] = value;

  ContextMessage said;
  for (const auto& [key, bytes] : values) {
    auto value = parse_value(bytes);
    if (!value) return std::nullopt;
    if (key == kSchema) {
      said.schema = value->text.value_or(std::string());
    } else if (key == kKeyMap) {
      if (!value->array) return std::nullopt;
      said.key_map = parse_key_map(*value->array, said.left_out);
      if (!said.key_map) return std::nullopt;
    } else if (key.starts_with(kOfThreads)) {
      const bool kept = value->number && key.size() <= kLongestText;
      if (kept) said.numbers.emplace_back(key.substr(kOfThreads.size()), *value->number);
    } else if (value->text) {
      if (key.size() > kLongestText || value->text->size() > kLongestText) {
        ++said.left_out;
      } else {
        said.attributes.emplace_back(key, *std::move(value->text));
      }
    }
  }
  return said;
}

}  // namespace labelscope
