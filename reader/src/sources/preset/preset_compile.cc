// How expressions become steps.
//
// The pointers on the way are numbers that stay: each has a slot of its own, found by its way ("c"
// and "c+112->"), so that labels of one structure follow it once. Where two or more fields of a
// structure are read, it is read as one block, right behind the pointer to it. Two more slots are
// for values.
//
//   let      condition, UNLESS -------+            of a name that depends on conditions
//            pointers, the last one   |            to the slot of this name
//                                  <--+
//   needs    [pointers, values] NEED ...            what does not hold ends the run
//   label    pointers of `let` and of conditions    may be null: a guard skips the next step
//            UNLESS condition ---------+            skips to the end of the label
//            pointers, UNLESS null ----+
//            value, UNLESS it is 0 ----+
//            EMIT                      |
//                                  <---+
//
// A pointer that is only followed if a condition holds is another one than that without condition:
// its slot stays 0 when it is skipped, as if it were null.
//
// All of it runs twice: first to see which fields are read of which structure, then with blocks.
#include "sources/preset/preset_compile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sources/preset/preset_values.h"

namespace labelscope {
namespace {

class Compiler : private PresetValues {
 public:
  Compiler(const PresetDescription& preset, const ChosenVariant& variant, const ElfImage& image,
           const PresetPlace& place, PresetBlocks blocks)
      : PresetValues(preset, variant, image, place, std::move(blocks)) {}

  Result<PresetPlan> compile() {
    plan_.name = preset_.name + (variant_.name.empty() ? "" : " " + variant_.name);
    for (const PresetLet& let : preset_.lets) {
      if (!let.condition) continue;
      if (Status done = compile_let(let); !done) {
        return unfit("let " + let.name + ": " + done.error().context);
      }
    }
    for (const PresetNeed& need : preset_.needs) {
      if (Status done = compile_need(need); !done) return std::move(done).error();
    }
    for (const DescribedLabel& label : preset_.labels) {
      if (lacks_fact(label)) {
        plan_.name += (left_out_++ == 0 ? " without " : ", ") + label.key;
      } else if (Status done = compile_label(label); !done) {
        return unfit("label " + label.key + ": " + done.error().context);
      }
      const auto transform = [label](std::string value) {
        return transform_value(label, std::move(value));
      };
      plan_.labels.push_back({label.key, transform, transform_text(label)});
    }
    if (left_out_ == preset_.labels.size()) return unfit(why_left_out());
    if (steps_.size() > LS_PRESET_STEPS) {
      return unfit("it needs " + std::to_string(steps_.size()) +
                   " steps, and a program has at most " + std::to_string(LS_PRESET_STEPS) +
                   ": leave labels out");
    }
    plan_.program.count = static_cast<std::uint32_t>(steps_.size());
    std::ranges::copy(steps_, plan_.program.step);
    plan_.words = std::move(words_);
    plan_.only_main_thread = preset_.only_main_thread || (uses_global_ && !checks_thread_);
    return std::move(plan_);
  }

  const PresetFields& fields() const { return fields_; }

 private:
  // Writes the pointer to the slot that all with this name share, if the condition holds. At most
  // one of their conditions should hold.
  Status compile_let(const PresetLet& let) {
    std::vector<std::size_t> to_end;
    std::set<unsigned> tested;
    Guards guards = Guards::of_label(to_end, tested);
    const auto known = known_without_reading(*let.condition);
    if (!known) return known.error();
    if (*known && !**known) return {};
    for (const PresetExpression* one : {&let.value, &let.condition->left, &let.condition->right}) {
      if (Status begun = begin(*one); !begun) return begun;
    }
    const auto slot = slot_of_let(let.name);
    if (!slot) return slot.error();
    const auto compared = compare(*let.condition, LS_PRESET_UNLESS, guards);
    if (!compared) return compared.error();
    if (!compared->known) {
      to_end.push_back(compared->step);
      guards.conditions.push_back(let.condition->text);
      say(compared->step, "let " + let.name);
    }
    PresetExpression pointer = let.value;
    pointer.steps.pop_back();
    const auto from = evaluate(pointer, guards);
    if (!from) return from.error();
    if (from->is_result) return unfit("an accessor returns an address, which no -> has to read");
    if (from->size != 0 && from->size != 8) return unfit("an accessor returns no pointer");
    read(*from, 8, false, *slot, guards);
    for (const std::size_t step : to_end) {
      steps_[step].offset = static_cast<__s32>(steps_.size() - step - 1);
    }
    return {};
  }

  Status compile_need(const PresetNeed& need) {
    Guards guards{.kind = Guards::Kind::kNeed,
                  .conditions = {},
                  .to_end = nullptr,
                  .tested = nullptr,
                  .why = need.why};
    const auto compared = compare(need.condition, LS_PRESET_NEED, guards);
    if (!compared) return unfit("need " + need.condition.text + ": " + compared.error().context);
    if (compared->known) {
      if (*compared->known) return {};
      return unfit(need.condition.text + " does not hold: " + need.why);
    }
    say(compared->step, need.why);
    const ls_preset_step& step = steps_[compared->step];
    if (step.size == LS_PRESET_NOT_EQUAL && step.value == 0 && step.from < kPointers) {
      never_null_[step.from] = true;
    }
    return {};
  }

  // Labels.

  bool lacks_fact(const DescribedLabel& label) const {
    return label.value.base == Base::kTitle  ? !place_.title
           : label.value.base == Base::kComm ? !place_.has_thread_names
                                             : false;
  }

  // Why none of the labels can be read.
  std::string why_left_out() const {
    const auto has = [&](Base base) {
      return std::ranges::any_of(
          preset_.labels, [base](const DescribedLabel& label) { return label.value.base == base; });
    };
    std::string why;
    if (has(Base::kTitle)) {
      why =
          "the title of the process is not known: a core file does not say where it is, and of a "
          "live process the kernel says it to those who may trace it";
    }
    if (has(Base::kComm)) {
      why += (why.empty() ? "" : "; and ") +
             std::string("a core file has the name of the process, and none of its threads' names");
    }
    return why;
  }

  // Follows the pointers of `let` that an expression begins with, and reads blocks of variables:
  // all that other labels need as well, so that no condition of this one skips it.
  Status begin(const PresetExpression& expression) {
    if (expression.base == Base::kLet) {
      const auto at = evaluate(PresetExpression{.base = Base::kLet, .name = expression.name}, {});
      return at ? Status() : Status(at.error());
    }
    if (expression.base != Base::kSymbol && expression.base != Base::kFunction) return {};
    PresetExpression base = expression;
    base.steps.clear();
    const auto at = evaluate(base, {});
    if (!at) return at.error();
    if (at->kind != Place::Kind::kSlot) {
      make_block(*at, {});
    }
    return {};
  }

  Status compile_label(const DescribedLabel& label) {
    const auto index = static_cast<unsigned>(plan_.labels.size());
    std::vector<std::size_t> to_end;
    std::set<unsigned> tested;
    Guards guards = Guards::of_label(to_end, tested);
    // What cannot hold in this variant is left out, with all that it would read.
    for (const PresetCondition& condition : label.conditions) {
      const auto known = known_without_reading(condition);
      if (!known) return known.error();
      if (*known && !**known) return {};
    }
    if (Status begun = begin(label.value); !begun) return begun;
    for (const PresetCondition& condition : label.conditions) {
      for (const PresetExpression* side : {&condition.left, &condition.right}) {
        if (Status begun = begin(*side); !begun) return begun;
      }
    }
    for (const PresetCondition& condition : label.conditions) {
      const auto compared = compare(condition, LS_PRESET_UNLESS, guards);
      if (!compared) return compared.error();
      if (compared->known) continue;
      to_end.push_back(compared->step);
      guards.conditions.push_back(condition.text);
    }
    const std::size_t before = steps_.size();
    if (Status emitted = emit(label, index, guards); !emitted) return emitted;
    if (steps_.size() > before) say(before, "label " + label.key);
    for (const std::size_t step : to_end) {
      steps_[step].offset = static_cast<__s32>(steps_.size() - step - 1);
    }
    return {};
  }

  Status emit(const DescribedLabel& label, unsigned index, Guards& guards) {
    if (label.value.is_fact()) {
      if (label.value.base == Base::kTitle) {
        emit_title(index);
      } else {
        add_step(LS_PRESET_EMIT_NAME, index, 0, LS_VARIABLE_ARRAY, 0, 0);
      }
      return {};
    }
    auto at = evaluate(label.value, guards);
    if (!at) return std::move(at).error();
    const VariableType type = *label.value.type;
    switch (type.kind) {
      case LS_VARIABLE_CSTRING:
        return emit_string(*at, index, guards);
      case LS_VARIABLE_SLICE:
      case LS_VARIABLE_VIEW:
        return emit_slice(*at, type, index, guards);
      case LS_VARIABLE_TEXT:
      case LS_VARIABLE_ARRAY:
      case LS_VARIABLE_HEX:
        return emit_bytes(*at, type, index);
      default:
        return emit_number(label, *at, type, index, guards);
    }
  }

  void emit_title(unsigned index) {
    add_step(LS_PRESET_SET, kLeft, 0, 0, 0, *place_.title);
    add_step(LS_PRESET_EMIT_TEXT, index, kLeft, LS_VARIABLE_TEXT, 0, 0);
  }

  Status emit_number(const DescribedLabel& label, const Place& at, const VariableType& type,
                     unsigned index, Guards& guards) {
    auto value = read_number(at, type, kLeft, guards);
    if (!value) return std::move(value).error();
    if (label.unless) {
      const auto not_this = number(*label.unless);
      if (!not_this) return not_this.error();
      guards.to_end->push_back(add_step(LS_PRESET_UNLESS, 0, kLeft, LS_PRESET_NOT_EQUAL, 0,
                                        static_cast<std::uint64_t>(*not_this)));
    }
    add_step(LS_PRESET_EMIT, index, kLeft, type.kind, type.size, 0);
    return {};
  }

  Status emit_string(const Place& at, unsigned index, Guards& guards) {
    if (Status fits = check_result(at, 8); !fits) return fits;
    read(at, 8, false, kLeft, guards);
    guard(kLeft, guards);
    add_step(LS_PRESET_EMIT_TEXT, index, kLeft, LS_VARIABLE_TEXT, 0, 0);
    return {};
  }

  Status emit_slice(const Place& at, const VariableType& type, unsigned index, Guards& guards) {
    constexpr unsigned kPointer = 8;
    if (at.is_result || at.size != 0) {
      return unfit("an accessor returns an address: ->:ptrlen reads what is there");
    }
    Place text = at;
    Place length = at;
    (type.kind == LS_VARIABLE_VIEW ? text : length).offset += 8;
    read(text, kPointer, false, kLeft, guards);
    guard(kLeft, guards);
    read(length, type.size - kPointer, false, kRight, guards);
    add_step(LS_PRESET_EMIT_TEXT, index, kLeft, LS_VARIABLE_SLICE, 0, kRight);
    return {};
  }

  Status emit_bytes(const Place& at, const VariableType& type, unsigned index) {
    if (at.is_result) return unfit("an accessor returns an address: -> leads there");
    if (at.size != 0) return unfit("an accessor returns a number, and no text");
    unsigned base = at.slot;
    if (at.kind != Place::Kind::kSlot) {
      set_address(at, kLeft);
      base = kLeft;
    }
    const bool to_nul = type.kind == LS_VARIABLE_TEXT;
    add_step(LS_PRESET_EMIT_TEXT, index, base, type.kind, at.offset, to_nul ? 0 : type.size);
    return {};
  }

  std::size_t left_out_ = 0;  // labels whose title or thread's name is not known
  PresetPlan plan_;
};

}  // namespace

Result<PresetPlan> compile_preset(const PresetDescription& preset, const ChosenVariant& variant,
                                  const ElfImage& image, const PresetPlace& place) {
  Compiler first(preset, variant, image, place, {});
  // It fails in the same way with blocks, which then save steps.
  if (auto seen = first.compile(); !seen && first.fields().empty()) return seen;
  auto plan = Compiler(preset, variant, image, place, choose_blocks(first.fields())).compile();
  if (!plan) return plan;
  if (auto wrong = refuse_program(plan->program)) return unfit(*std::move(wrong));
  return plan;
}

}  // namespace labelscope
