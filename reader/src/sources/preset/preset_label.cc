// label NAME = EXPRESSION:TYPE, and what may follow: transforms, conditions, a class.
#include <cstdint>
#include <string>
#include <utility>

#include "labelscope/variable_spec.h"
#include "sources/preset/preset_parts.h"

namespace labelscope {
namespace {

constexpr std::size_t kMostWordNumber = 100;
constexpr std::size_t kMostNames = 64;  // of a map
constexpr std::size_t kMostTransforms = 4;

// Parses "1=LWLock 3=Lock", up to what is no such pair.
Status parse_map(PresetWords& words, PresetTransform& transform) {
  while (!words.peek().starts_with("class=") && !words.peek().starts_with("names=")) {
    const std::size_t equals = find_assignment(words.peek());
    if (equals == std::string_view::npos) break;
    const std::string_view pair = words.take().text;
    transform.map.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    if (transform.map.size() > kMostNames) return malformed("too many names");
  }
  return transform.map.empty() ? Status(malformed("map VALUE=NAME... is wanted")) : Status();
}

Status parse_transform(PresetWords& words, DescribedLabel& label) {
  using Kind = PresetTransform::Kind;
  PresetTransform transform;
  if (words.take("path")) {
    transform.kind = Kind::kPath;
  } else if (words.take("fingerprint")) {
    transform.kind = Kind::kFingerprint;
    if (words.take("mysql")) transform.dialect = SqlDialect::kMysql;
  } else if (words.take("word")) {
    const auto number = whole_number(words.take().text);
    if (!number || !number->parameter.empty() || number->value < 1 ||
        number->value > static_cast<std::int64_t>(kMostWordNumber)) {
      return malformed("word N wants a number from 1");
    }
    transform.kind = Kind::kWord;
    transform.word = static_cast<unsigned>(number->value);
  } else if (words.take("after")) {
    const PresetWord text = words.take();
    if (!text.quoted || text.text.empty()) return malformed("after \"TEXT\" is wanted");
    transform.kind = Kind::kAfter;
    transform.after = text.text;
  } else if (words.take("map")) {
    transform.kind = Kind::kMap;
    if (Status names = parse_map(words, transform); !names) return names;
  } else {
    return malformed(
        in_quotes(words.take().text) +
        " is not understood: path, word N, after \"TEXT\", fingerprint, map, if, unless, "
        "class= or names= can stand there");
  }
  if (label.transforms.size() == kMostTransforms) return malformed("too many transforms");
  label.transforms.push_back(std::move(transform));
  return {};
}

Status parse_unless(PresetWords& words, DescribedLabel& label) {
  const PresetWord word = words.take();
  if (word.quoted) {
    if (!word.text.empty()) return malformed("unless is followed by a number or \"\"");
    label.unless_empty = true;
    return {};
  }
  const auto number = whole_number(word.text);
  if (!number) return malformed("unless is followed by a number or \"\"");
  if (!label.value.type || !is_compared(label.value.type->kind)) {
    return malformed(in_quotes(label.value.text) + " is no number, so it is never " +
                     std::string(word.text));
  }
  label.unless = *number;
  return {};
}

Status parse_addition(PresetWords& words, std::span<const PresetLet> lets, DescribedLabel& label) {
  if (words.take("if")) {
    if (label.conditions.size() == 4) return malformed("too many conditions");
    auto condition = parse_preset_condition(words, lets);
    if (!condition) return std::move(condition).error();
    label.conditions.push_back(*std::move(condition));
    return {};
  }
  if (words.take("unless")) return parse_unless(words, label);
  if (words.peek().starts_with("class=")) {
    const std::string_view name = words.take().text.substr(6);
    if (name != "low" && name != "mid" && name != "high") {
      return malformed("class is low, mid or high");
    }
    label.cardinality = name == "low"   ? PresetClass::kLow
                        : name == "mid" ? PresetClass::kMiddle
                                        : PresetClass::kHigh;
    return {};
  }
  if (words.peek().starts_with("names=")) {
    label.names = words.take().text.substr(6);
    return {};
  }
  return parse_transform(words, label);
}

}  // namespace

Result<DescribedLabel> parse_preset_label(PresetWords& words, std::span<const PresetLet> lets) {
  DescribedLabel label;
  const std::string_view key = words.take().text;
  if (!is_preset_name(key, "_.-")) return malformed("label NAME = EXPRESSION is wanted");
  label.key = key;
  if (!words.take("=")) return malformed("behind the name stands =");
  auto value = parse_preset_value(words, lets);
  if (!value) return std::move(value).error();
  label.value = *std::move(value);
  if (!label.value.type && !label.value.is_fact()) {
    return malformed("the type is missing: " + label.value.text + ":TYPE; the types are " +
                     variable_types());
  }
  while (!words.empty()) {
    if (Status more = parse_addition(words, lets, label); !more) return std::move(more).error();
  }
  return label;
}

}  // namespace labelscope
