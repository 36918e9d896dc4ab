// This parses a preset: one statement a line, the first word says which. What refers to something
// else (a name of `let`, a parameter) is checked when all lines are read.
#include "sources/preset/preset_file.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "labelscope/preset_program.h"
#include "sources/preset/preset_text.h"

namespace labelscope {
namespace {

constexpr std::string_view kSymbolCharacters = "_.$@";  // beside letters and digits
constexpr std::size_t kMostLine = 1000;
constexpr std::size_t kMostOfKind = 16;  // statements of one kind; there are as many slots
constexpr std::size_t kMostWordNumber = 100;
constexpr std::size_t kMostNames = 64;  // of a map
constexpr std::size_t kMostTransforms = 4;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::size_t find_assignment(std::string_view word) {
  const std::size_t at = word.find('=');
  return at == 0 || at == word.size() - 1 ? std::string_view::npos : at;
}

class FileParser {
 public:
  Result<PresetDescription> parse(std::string_view text) {
    if (text.size() > kMostPresetBytes) {
      return malformed("it has more than " + std::to_string(kMostPresetBytes) + " bytes");
    }
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (Status line = parse_line(text.substr(0, end)); !line) return at_line(line.error());
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (Status whole = check(); !whole) return std::move(whole).error();
    return std::move(made_);
  }

 private:
  Error at_line(const Error& error) const {
    return malformed("line " + std::to_string(line_) + ": " + error.context);
  }

  Status parse_line(std::string_view line) {
    if (line.size() > kMostLine) {
      return malformed("it has more than " + std::to_string(kMostLine) + " characters");
    }
    auto split_line = PresetWords::split(line);
    if (!split_line) return std::move(split_line).error();
    PresetWords words = *std::move(split_line);
    if (words.empty()) return {};
    const PresetWord first = words.take();
    const std::string_view what = first.quoted ? std::string_view() : first.text;
    if (made_.name.empty() && what != "preset") {
      return malformed("the first statement is: preset NAME VERSION");
    }
    // These are for people, and taken as they are.
    const std::string_view behind = line.substr(
        std::min(line.size(),
                 static_cast<std::size_t>(first.text.data() - line.data()) + first.text.size()));
    if (what == "about") return take_sentence(behind, made_.about);
    if (what == "truth") return take_sentence(behind, made_.truth);
    Status done = parse_statement(what, words);
    if (done && !words.empty()) {
      done = malformed(quoted(words.take().text) + " is not understood there");
    }
    return done;
  }

  static Status take_sentence(std::string_view rest, std::string& to) {
    const std::size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
    const std::size_t end = rest.find_last_not_of(" \t\r");
    to = end == std::string_view::npos ? "" : rest.substr(begin, end + 1 - begin);
    return {};
  }

  Status parse_statement(std::string_view what, PresetWords& words) {
    if (what == "preset") return parse_head(words);
    if (what == "match") return parse_match(words);
    if (what == "only") return parse_only(words);
    if (what == "variant") return parse_variant(words);
    if (what == "let") return parse_let(words);
    if (what == "need") return parse_need(words);
    if (what == "label" || what == "private") return parse_label(words, what == "private");
    return malformed(
        "there is no statement " + quoted(what) +
        ", only preset, about, match, only, variant, let, need, label, private, truth");
  }

  Status parse_head(PresetWords& words) {
    if (!made_.name.empty()) return malformed("a file has one preset");
    const std::string_view name = words.take().text;
    if (!is_preset_name(name, "-.") ||
        std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return malformed("the name of a preset has the letters a to z, digits and -");
    }
    const auto version = whole_number(words.take().text);
    if (!version || version->value < 1 || version->value > 1'000'000) {
      return malformed("preset NAME VERSION is wanted, with a number from 1");
    }
    made_.name = name;
    made_.version = static_cast<unsigned>(version->value);
    return {};
  }

  Status parse_match(PresetWords& words) {
    if (matched_) return malformed("a preset has one line of match");
    matched_ = true;
    if (words.take("*")) return {};
    while (!words.empty()) {
      std::string_view word = words.take().text;
      const bool absent = word.starts_with('!');
      if (absent) word.remove_prefix(1);
      std::vector<std::string> group;
      for (const std::string_view symbol : split(word, '|')) {
        if (!is_preset_name(symbol, kSymbolCharacters))
          return malformed(quoted(symbol) + " is no name of a symbol");
        group.emplace_back(symbol);
      }
      if (absent) {
        std::ranges::move(group, std::back_inserter(made_.match_none));
      } else {
        made_.match.push_back(std::move(group));
      }
      if (made_.match.size() + made_.match_none.size() > kMostOfKind) {
        return malformed("too many symbols");
      }
    }
    if (made_.match.empty()) return malformed("match wants symbols, or * for any program");
    return {};
  }

  Status parse_only(PresetWords& words) {
    if (!words.take("main-thread")) return malformed("only main-thread is known");
    made_.only_main_thread = true;
    return {};
  }

  Status parse_variant(PresetWords& words) {
    if (made_.variants.size() == kMostPresetVariants) {
      return malformed("more than " + std::to_string(kMostPresetVariants) + " variants");
    }
    PresetVariant variant;
    const std::string_view name = words.take().text;
    if (!is_preset_name(name, "-.+_")) return malformed("variant NAME when SYMBOL... is wanted");
    variant.name = name;
    if (!words.take("when"))
      return malformed("behind the name of a variant stands: when SYMBOL...");
    while (!words.empty() && words.peek() != "set") {
      if (variant.tests.size() == kMostOfKind) return malformed("too many symbols");
      auto test = parse_test(words);
      if (!test) return std::move(test).error();
      variant.tests.push_back(*std::move(test));
    }
    if (variant.tests.empty()) return malformed("when wants a symbol");
    if (words.take("set")) {
      while (!words.empty()) {
        if (Status set = parse_parameter(words.take().text, variant); !set) return set;
      }
    }
    made_.variants.push_back(std::move(variant));
    return {};
  }

  // Parses "SYMBOL", "!SYMBOL", "SYMBOL.size==N" or "SYMBOL.size == N".
  static Result<PresetVariant::Test> parse_test(PresetWords& words) {
    PresetVariant::Test test;
    std::string_view word = words.take().text;
    if (word.starts_with('!')) {
      test.absent = true;
      word.remove_prefix(1);
    }
    std::string_view size;
    constexpr std::string_view kSize = ".size";
    if (const std::size_t equals = word.find("=="); equals != std::string_view::npos) {
      size = word.substr(equals + 2);
      word = word.substr(0, equals);
    } else if (words.take("==")) {
      size = words.take().text;
    }
    if (!size.empty() || word.ends_with(kSize)) {
      const auto number = whole_number(size);
      if (!word.ends_with(kSize) || test.absent || !number || !number->parameter.empty() ||
          number->value < 0) {
        return malformed("a size is compared like this: SYMBOL.size==N");
      }
      word.remove_suffix(kSize.size());
      test.size = static_cast<std::uint64_t>(number->value);
    }
    if (!is_preset_name(word, kSymbolCharacters))
      return malformed(quoted(word) + " is no name of a symbol");
    test.symbol = word;
    return test;
  }

  static Status parse_parameter(std::string_view word, PresetVariant& variant) {
    const std::size_t equals = find_assignment(word);
    if (equals == std::string_view::npos) return malformed(quoted(word) + " is not NAME=NUMBER");
    const std::string_view name = word.substr(0, equals);
    const auto number = whole_number(word.substr(equals + 1));
    if (!is_preset_name(name, "_") || !number || !number->parameter.empty()) {
      return malformed(quoted(word) + " is not NAME=NUMBER");
    }
    if (number->value < -kMostPresetOffset || number->value > UINT32_MAX) {
      return malformed(quoted(word) + " is out of range");
    }
    if (variant.parameters.size() == kMostOfKind) return malformed("too many parameters");
    if (!variant.parameters.emplace(name, number->value).second) {
      return malformed("$" + std::string(name) + " is set twice");
    }
    return {};
  }

  Result<PresetExpression> parse_value(PresetWords& words) {
    auto parsed = parse_preset_expression(words.take().text);
    if (!parsed) return parsed;
    if (parsed->base == PresetExpression::Base::kSymbol &&
        std::ranges::find(made_.lets, parsed->name, &PresetLet::name) != made_.lets.end()) {
      parsed->base = PresetExpression::Base::kLet;
    }
    return parsed;
  }

  Status parse_let(PresetWords& words) {
    const std::string_view name = words.take().text;
    if (!is_preset_name(name, "_")) return malformed("let NAME = EXPRESSION is wanted");
    if (!words.take("=")) return malformed("behind the name stands =");
    if (made_.lets.size() == kMostOfKind) return malformed("too many names");
    auto value = parse_value(words);
    if (!value) return std::move(value).error();
    if (value->type) return malformed("let names a place: leave the type to its users");
    PresetLet let{std::string(name), *std::move(value)};
    if (words.take("if")) {
      auto condition = parse_condition(words);
      if (!condition) return std::move(condition).error();
      const auto uses = [&](const PresetExpression& one) {
        return one.base == PresetExpression::Base::kLet && one.name == let.name;
      };
      if (uses(let.value) || uses(condition->left) || uses(condition->right)) {
        return malformed(quoted(name) + " is made of itself");
      }
      if (let.value.steps.empty() || let.value.steps.back().kind != PresetStep::Kind::kFollow) {
        return malformed("with an if, what let names ends in ->");
      }
      let.condition = *std::move(condition);
    }
    if (std::ranges::any_of(made_.lets, [&](const PresetLet& one) {
          return one.name == let.name && !(one.condition && let.condition);
        })) {
      return malformed(quoted(name) + " is there already, and not both have an if");
    }
    // What stands between two of them would see the name half made.
    if (!made_.lets.empty() && made_.lets.back().name != let.name &&
        std::ranges::find(made_.lets, let.name, &PresetLet::name) != made_.lets.end()) {
      return malformed("all lines of " + quoted(name) + " stand together");
    }
    made_.lets.push_back(std::move(let));
    return {};
  }

  Result<PresetCondition> parse_condition(PresetWords& words) {
    using Comparison = PresetCondition::Comparison;
    static constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
        {"==", Comparison::kEqual},
        {"!=", Comparison::kNotEqual},
        {">", Comparison::kGreater},
        {"<", Comparison::kLess},
        {"even", Comparison::kEven}};
    PresetCondition made;
    auto left = parse_value(words);
    if (!left) return std::move(left).error();
    const std::string_view sign = words.take().text;
    const auto comparison =
        std::ranges::find(kComparisons, sign, [](const auto& one) { return one.first; });
    if (comparison == std::end(kComparisons)) {
      return malformed("behind " + quoted(left->text) + " stands ==, !=, >, < or even");
    }
    made.left = *std::move(left);
    made.comparison = comparison->second;
    made.text = made.left.text + " " + std::string(sign);
    if (made.comparison == Comparison::kEven) return made;
    auto right = parse_value(words);
    if (!right) return std::move(right).error();
    made.right = *std::move(right);
    made.text += " " + made.right.text;
    for (const PresetExpression& side : {made.left, made.right}) {
      if (side.type && !is_compared(side.type->kind)) {
        return malformed(quoted(side.text) + " is no number, which alone is compared");
      }
    }
    return made;
  }

  static bool is_compared(ls_variable_kind kind) {
    return kind == LS_VARIABLE_UNSIGNED || kind == LS_VARIABLE_SIGNED || kind == LS_VARIABLE_BOOL;
  }

  Status parse_need(PresetWords& words) {
    if (made_.needs.size() == kMostOfKind) return malformed("too many needs");
    auto condition = parse_condition(words);
    if (!condition) return std::move(condition).error();
    const PresetWord why = words.take();
    if (!why.quoted || why.text.empty()) {
      return malformed(
          "behind a need stands what it means if it does not hold, like \"no request\"");
    }
    made_.needs.push_back({*std::move(condition), std::string(why.text)});
    return {};
  }

  Status parse_label(PresetWords& words, bool is_private) {
    if (made_.labels.size() == LS_PRESET_LABELS) {
      return malformed("more than " + std::to_string(LS_PRESET_LABELS) + " labels");
    }
    DescribedLabel label;
    label.is_private = is_private;
    label.line = line_;
    const std::string_view key = words.take().text;
    if (!is_preset_name(key, "_.-")) return malformed("label NAME = EXPRESSION is wanted");
    label.key = key;
    if (!words.take("=")) return malformed("behind the name stands =");
    auto value = parse_value(words);
    if (!value) return std::move(value).error();
    label.value = *std::move(value);
    if (!label.value.type && !label.value.is_fact()) {
      return malformed("the type is missing: " + label.value.text + ":TYPE; the types are " +
                       variable_types());
    }
    while (!words.empty()) {
      if (Status more = parse_addition(words, label); !more) return more;
    }
    // Several ways may lead to one label, each under a condition of its own.
    if (std::ranges::any_of(made_.labels, [&](const DescribedLabel& one) {
          return one.key == label.key && one.is_private == is_private &&
                 (one.conditions.empty() || label.conditions.empty());
        })) {
      return malformed(quoted(label.key) + " is there already, and not both have an if");
    }
    made_.labels.push_back(std::move(label));
    return {};
  }

  Status parse_addition(PresetWords& words, DescribedLabel& label) {
    if (words.take("if")) {
      if (label.conditions.size() == 4) return malformed("too many conditions");
      auto condition = parse_condition(words);
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

  static Status parse_unless(PresetWords& words, DescribedLabel& label) {
    const PresetWord word = words.take();
    if (word.quoted) {
      if (!word.text.empty()) return malformed("unless is followed by a number or \"\"");
      label.unless_empty = true;
      return {};
    }
    const auto number = whole_number(word.text);
    if (!number) return malformed("unless is followed by a number or \"\"");
    if (!label.value.type || !is_compared(label.value.type->kind)) {
      return malformed(quoted(label.value.text) + " is no number, so it is never " +
                       std::string(word.text));
    }
    label.unless = *number;
    return {};
  }

  static Status parse_transform(PresetWords& words, DescribedLabel& label) {
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
          quoted(words.take().text) +
          " is not understood: path, word N, after \"TEXT\", fingerprint, map, if, unless, "
          "class= or names= can stand there");
    }
    if (label.transforms.size() == kMostTransforms) return malformed("too many transforms");
    label.transforms.push_back(std::move(transform));
    return {};
  }

  // Parses "1=LWLock 3=Lock", up to what is no such pair.
  static Status parse_map(PresetWords& words, PresetTransform& transform) {
    while (!words.peek().starts_with("class=") && !words.peek().starts_with("names=")) {
      const std::size_t equals = find_assignment(words.peek());
      if (equals == std::string_view::npos) break;
      const std::string_view pair = words.take().text;
      transform.map.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
      if (transform.map.size() > kMostNames) return malformed("too many names");
    }
    return transform.map.empty() ? Status(malformed("map VALUE=NAME... is wanted")) : Status();
  }

  // Checks what only the whole file shows.
  Status check() const {
    if (made_.name.empty()) return malformed("it has no statement: preset NAME VERSION");
    if (!matched_) return malformed("it has no statement: match SYMBOL...");
    if (made_.labels.empty()) return malformed("it has no label");
    for (const DescribedLabel& label : made_.labels) {
      if (label.names.empty()) continue;
      const auto numbers = std::ranges::find(made_.labels, label.names, &DescribedLabel::key);
      if (numbers == made_.labels.end() || numbers->key == label.key || numbers->is_private) {
        return malformed("line " + std::to_string(label.line) + ": names=" + label.names +
                         " is no other label of this preset");
      }
    }
    std::set<std::string> used;
    for (const PresetLet& let : made_.lets) {
      note_parameters(let.value, used);
      if (let.condition) note_parameters(*let.condition, used);
    }
    for (const PresetNeed& need : made_.needs) note_parameters(need.condition, used);
    for (const DescribedLabel& label : made_.labels) {
      note_parameters(label.value, used);
      if (label.unless) note(*label.unless, used);
      for (const PresetCondition& condition : label.conditions) note_parameters(condition, used);
    }
    if (!used.empty() && made_.variants.empty()) {
      return malformed("no variant sets $" + *used.begin());
    }
    for (const PresetVariant& variant : made_.variants) {
      for (const std::string& name : used) {
        if (variant.parameters.contains(name)) continue;
        return malformed("variant " + variant.name + " does not set $" + name);
      }
    }
    return {};
  }

  static void note(const PresetNumber& number, std::set<std::string>& used) {
    if (!number.parameter.empty()) used.insert(number.parameter);
  }
  static void note_parameters(const PresetExpression& value, std::set<std::string>& used) {
    note(value.number, used);
    for (const PresetStep& step : value.steps) {
      note(step.number, used);
      note(step.search.field, used);
      note(step.search.value, used);
      note(step.search.next, used);
    }
  }
  static void note_parameters(const PresetCondition& condition, std::set<std::string>& used) {
    note_parameters(condition.left, used);
    note_parameters(condition.right, used);
  }

  PresetDescription made_;
  bool matched_ = false;
  std::size_t line_ = 1;
};

}  // namespace

Result<PresetDescription> parse_preset(std::string_view text) { return FileParser().parse(text); }

}  // namespace labelscope
