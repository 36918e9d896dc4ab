// This parses a preset: one statement a line, the first word says which. The long statements are in
// files of their own (preset_parts.h). What refers to something else (a name of `let`, a parameter)
// is checked when all lines are read.
#include "sources/preset/preset_file.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "labelscope/preset_program.h"
#include "sources/preset/preset_parts.h"

namespace labelscope {
namespace {

constexpr std::size_t kMostLine = 1000;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
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
      done = malformed(in_quotes(words.take().text) + " is not understood there");
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
    if (what == "variant") return add_variant(words);
    if (what == "let") return add_let(words);
    if (what == "need") return add_need(words);
    if (what == "label" || what == "private") return add_label(words, what == "private");
    return malformed(
        "there is no statement " + in_quotes(what) +
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
        if (!is_preset_name(symbol, kPresetSymbolCharacters))
          return malformed(in_quotes(symbol) + " is no name of a symbol");
        group.emplace_back(symbol);
      }
      if (absent) {
        std::ranges::move(group, std::back_inserter(made_.match_none));
      } else {
        made_.match.push_back(std::move(group));
      }
      if (made_.match.size() + made_.match_none.size() > kMostPresetStatements) {
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

  Status add_variant(PresetWords& words) {
    if (made_.variants.size() == kMostPresetVariants) {
      return malformed("more than " + std::to_string(kMostPresetVariants) + " variants");
    }
    auto variant = parse_preset_variant(words);
    if (!variant) return std::move(variant).error();
    made_.variants.push_back(*std::move(variant));
    return {};
  }

  Status add_let(PresetWords& words) {
    if (made_.lets.size() == kMostPresetStatements) return malformed("too many names");
    auto parsed = parse_preset_let(words, made_.lets);
    if (!parsed) return std::move(parsed).error();
    PresetLet& let = *parsed;
    if (std::ranges::any_of(made_.lets, [&](const PresetLet& one) {
          return one.name == let.name && !(one.condition && let.condition);
        })) {
      return malformed(in_quotes(let.name) + " is there already, and not both have an if");
    }
    // What stands between two of them would see the name half made.
    if (!made_.lets.empty() && made_.lets.back().name != let.name &&
        std::ranges::find(made_.lets, let.name, &PresetLet::name) != made_.lets.end()) {
      return malformed("all lines of " + in_quotes(let.name) + " stand together");
    }
    made_.lets.push_back(std::move(let));
    return {};
  }

  Status add_label(PresetWords& words, bool is_private) {
    if (made_.labels.size() == LS_PRESET_LABELS) {
      return malformed("more than " + std::to_string(LS_PRESET_LABELS) + " labels");
    }
    auto label = parse_preset_label(words, made_.lets);
    if (!label) return std::move(label).error();
    label->is_private = is_private;
    label->line = line_;
    // Several ways may lead to one label, each under a condition of its own.
    if (std::ranges::any_of(made_.labels, [&](const DescribedLabel& one) {
          return one.key == label->key && one.is_private == is_private &&
                 (one.conditions.empty() || label->conditions.empty());
        })) {
      return malformed(in_quotes(label->key) + " is there already, and not both have an if");
    }
    made_.labels.push_back(*std::move(label));
    return {};
  }

  Status add_need(PresetWords& words) {
    if (made_.needs.size() == kMostPresetStatements) return malformed("too many needs");
    auto condition = parse_preset_condition(words, made_.lets);
    if (!condition) return std::move(condition).error();
    const PresetWord why = words.take();
    if (!why.quoted || why.text.empty()) {
      return malformed(
          "behind a need stands what it means if it does not hold, like \"no request\"");
    }
    made_.needs.push_back({*std::move(condition), std::string(why.text)});
    return {};
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
