// This parses expressions of presets from left to right: the base, then one step after the other,
// and the type behind the last colon.
#include "sources/preset/preset_file.h"
#include "sources/preset/preset_text.h"

namespace labelscope {
namespace {

// A way through more structures is none that somebody has tried.
constexpr std::size_t kMostSteps = 16;
constexpr unsigned kMostNodes = 8;  // of a list; LS_PRESET_NODES of preset_program.h

bool starts_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool in_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

std::string_view take_name(std::string_view& rest) {
  std::size_t size = 0;
  if (!rest.empty() && starts_name(rest[0])) {
    while (size < rest.size() && in_name(rest[size])) ++size;
  }
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(text), rest_(text) {}

  Result<PresetExpression> parse() {
    made_.text = all_;
    if (Status base = parse_base(); !base) return std::move(base).error();
    while (!rest_.empty() && rest_[0] != ':') {
      if (made_.steps.size() == kMostSteps) {
        return malformed("more than " + std::to_string(kMostSteps) + " steps");
      }
      if (Status step = parse_step(); !step) return std::move(step).error();
    }
    if (!rest_.empty()) {
      auto type = parse_variable_type(rest_.substr(1));
      if (!type) return std::move(type).error();
      made_.type = *type;
    }
    if (Status whole = check(); !whole) return std::move(whole).error();
    return std::move(made_);
  }

 private:
  using Base = PresetExpression::Base;

  Status parse_base() {
    if (take(rest_, "@")) return parse_fact();
    if (take(rest_, "&")) {
      made_.base = Base::kSymbolAddress;
      made_.name = take_name(rest_);
      if (made_.name.empty()) return malformed("behind & the name of a symbol is wanted");
      return {};
    }
    if (rest_.starts_with('$') || rest_.starts_with('-') ||
        (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9')) {
      made_.base = Base::kNumber;
      return take_number(rest_, made_.number);
    }
    made_.name = take_name(rest_);
    if (made_.name.empty()) {
      return malformed(
          in_quotes(all_) +
          " begins with no symbol, function, @title, @comm, @tid, number or $parameter");
    }
    made_.base = Base::kSymbol;
    if (take(rest_, "()")) made_.base = Base::kFunction;
    std::string_view after = rest_;
    if (take(after, ".size") && (after.empty() || !in_name(after[0])) && !after.starts_with("(")) {
      made_.base = Base::kSymbolSize;
      rest_ = after;
    }
    return {};
  }

  Status parse_fact() {
    const std::string_view name = take_name(rest_);
    if (name == "title") {
      made_.base = Base::kTitle;
    } else if (name == "comm") {
      made_.base = Base::kComm;
    } else if (name == "tid") {
      made_.base = Base::kTid;
    } else {
      return malformed("there is no @" + std::string(name) + ", only @title, @comm and @tid");
    }
    return {};
  }

  Status parse_step() {
    PresetStep step;
    if (take(rest_, "->find(")) {
      step.kind = PresetStep::Kind::kFind;
      if (Status search = parse_search(step.search); !search) return search;
      made_.steps.push_back({.kind = PresetStep::Kind::kFollow});
    } else if (take(rest_, "->")) {
      step.kind = PresetStep::Kind::kFollow;
    } else if (take(rest_, "+")) {
      step.kind = PresetStep::Kind::kAdd;
      if (Status number = take_number(rest_, step.number); !number) return number;
      if (step.number.value < 0 || step.number.value > kMostPresetOffset) {
        return malformed("an offset is too large: at most " + std::to_string(kMostPresetOffset));
      }
    } else if (take(rest_, ".")) {
      step.kind = PresetStep::Kind::kCall;
      step.function = take_name(rest_);
      if (step.function.empty() || !take(rest_, "()")) {
        return malformed("behind . an accessor is wanted, like .thd_query_id()");
      }
    } else {
      return malformed(in_quotes(rest_.substr(0, 40)) +
                       " is no step: +N, ->, .FUNCTION(), ->find(...) or :TYPE");
    }
    made_.steps.push_back(std::move(step));
    return {};
  }

  // Parses "+0:u32==1955,next=+32,max=4)".
  Status parse_search(PresetSearch& search) {
    static constexpr std::string_view kForm =
        "a search has the form ->find(+N:u32==NUMBER,next=+N,max=K)";
    PresetNumber most;
    const bool formed = take(rest_, "+") && take_number(rest_, search.field) &&
                        take(rest_, ":u32==") && take_number(rest_, search.value) &&
                        take(rest_, ",next=+") && take_number(rest_, search.next) &&
                        take(rest_, ",max=") && take_number(rest_, most) && take(rest_, ")");
    if (!formed || !most.parameter.empty()) return malformed(std::string(kForm));
    for (const PresetNumber& offset : {search.field, search.next}) {
      if (offset.value < 0 || offset.value > kMostPresetOffset) {
        return malformed("an offset is too large: at most " + std::to_string(kMostPresetOffset));
      }
    }
    if (search.value.value < 0 || search.value.value > UINT32_MAX) {
      return malformed("a search compares numbers of 32 bits");
    }
    if (most.value < 1 || most.value > kMostNodes) {
      return malformed("a search looks at 1 to " + std::to_string(kMostNodes) + " nodes");
    }
    search.most = static_cast<unsigned>(most.value);
    return {};
  }

  // Refuses what has no meaning: a number is no place.
  Status check() const {
    const bool is_number = made_.base == Base::kNumber || made_.base == Base::kTid ||
                           made_.base == Base::kSymbolSize || made_.base == Base::kSymbolAddress;
    if (is_number && (!made_.steps.empty() || made_.type)) {
      return malformed(in_quotes(all_) + " is a number: no step or type follows it");
    }
    if (made_.is_fact() && (!made_.steps.empty() || made_.type)) {
      return malformed(in_quotes(all_) + " is a text: no step or type follows it");
    }
    return {};
  }

  std::string_view all_;
  std::string_view rest_;
  PresetExpression made_;
};

}  // namespace

Result<PresetExpression> parse_preset_expression(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace labelscope
