// This explains a run of a preset's program: one sentence for each step that was done.
#include <algorithm>

#include "base/text.h"
#include "sources/preset/preset.h"
#include "sources/preset/preset_run.h"
#include "sources/variable/value.h"

namespace labelscope {
namespace {

// Values below this are shown as numbers, and others as addresses.
constexpr std::uint64_t kSmall = 1 << 16;

std::string value_words(std::uint64_t value) {
  return value < kSmall ? std::to_string(value) : hex(value);
}

std::string with_offset(std::uint64_t address, std::int64_t offset) {
  return hex(address + static_cast<std::uint64_t>(offset));
}

std::string bytes_words(std::uint64_t count) {
  return count == 1 ? "1 byte" : std::to_string(count) + " bytes";
}

std::string comparison_words(unsigned comparison, bool holds) {
  switch (comparison) {
    case LS_PRESET_EQUAL:
      return holds ? "equals" : "does not equal";
    case LS_PRESET_NOT_EQUAL:
      return holds ? "does not equal" : "equals";
    case LS_PRESET_GREATER:
    case LS_PRESET_SIGNED_GREATER:
      return holds ? "is greater than" : "is not greater than";
    case LS_PRESET_LESS:
    case LS_PRESET_SIGNED_LESS:
      return holds ? "is less than" : "is not less than";
    case LS_PRESET_ANY_BIT:
      return holds ? "has a bit of" : "has no bit of";
    default:
      return holds ? "has no bit of" : "has a bit of";
  }
}

class RunStory {
 public:
  RunStory(const PresetPlan& plan, ReadingStory& made) : plan_(plan), made_(made) {}

  void add(const PresetTraceStep& seen) {
    const ls_preset_step& step = plan_.program.step[seen.at];
    const bool failed = seen.outcome != LS_LABELLED && seen.outcome != LS_UNREADABLE_STALE;
    const std::string what = failed ? failure(step, seen) : done(step, seen);
    const std::string purpose = words(seen.at);
    made_.steps.push_back(purpose.empty() ? what : purpose + ": " + what);
    if (failed) {
      made_.findings.push_back({FindingCode::kBadPointer, made_.steps.back(),
                                "compare the preset with the version of the program"});
    } else if (seen.outcome == LS_UNREADABLE_STALE) {
      made_.findings.push_back(
          {FindingCode::kStaleValues,
           "the values are not those of what runs now: " + made_.steps.back(),
           "look again: this is so for a moment while the program changes them"});
    }
  }

 private:
  std::string words(std::size_t step) const {
    const auto found =
        std::ranges::find(plan_.words, step, &std::pair<std::size_t, std::string>::first);
    return found == plan_.words.end() ? "" : found->second;
  }

  static std::string comparison(const ls_preset_step& step, const PresetTraceStep& seen) {
    const unsigned kind = step.size & ~unsigned{LS_PRESET_WITH_SLOT};
    return value_words(seen.from) + ' ' + comparison_words(kind, seen.held) + ' ' +
           value_words(seen.other);
  }

  std::string label(const ls_preset_step& step, const PresetTraceStep& seen) const {
    const std::string key = step.to < plan_.labels.size() ? plan_.labels[step.to].key
                                                          : "label " + std::to_string(step.to);
    if (seen.label.empty() && step.op == LS_PRESET_EMIT_NAME)
      return "the label " + key + " is left out: the thread's name is not known";
    if (seen.label.empty())
      return "the label " + key + " is left out: there are too few bytes, or too many";
    const auto value = value_text(step.size, seen.label);
    return "the label " + key + " is " + value.value_or("malformed");
  }

  static std::string failure(const ls_preset_step& step, const PresetTraceStep& seen) {
    if (seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER) return "the thread pointer is not known";
    const std::string place = with_offset(seen.from, step.offset);
    return seen.outcome == LS_UNREADABLE_MALFORMED
               ? place + " is no possible address, or the step has a mistake"
               : "the memory at " + place + " is not there or not resident";
  }

  std::string done(const ls_preset_step& step, const PresetTraceStep& seen) const {
    switch (step.op) {
      case LS_PRESET_SET:
        return "it is at " + value_words(seen.to);
      case LS_PRESET_THREAD:
        return distance_from("the thread pointer", static_cast<std::int64_t>(step.value)) + " is " +
               hex(seen.to);
      case LS_PRESET_LOCATED:
        return distance_from("the variable", static_cast<std::int64_t>(step.value)) + " is " +
               hex(seen.to);
      case LS_PRESET_NUMBER:
        return "the thread's number is " + std::to_string(seen.to);
      case LS_PRESET_ADD:
      case LS_PRESET_SUM:
        return value_words(seen.from) + " and " + value_words(seen.to - seen.from) + " are " +
               value_words(seen.to);
      case LS_PRESET_READ:
        return "the " + bytes_words(step.size & ~unsigned{LS_PRESET_SIGNED}) + " at " +
               with_offset(seen.from, step.offset) + " are " + value_words(seen.to);
      case LS_PRESET_BLOCK:
        return "block " + std::to_string(step.to) + " is the " + bytes_words(step.value) + " at " +
               with_offset(seen.from, step.offset);
      case LS_PRESET_FIELD:
        return "the " + bytes_words(step.size & ~unsigned{LS_PRESET_SIGNED}) + " at " +
               std::to_string(step.offset) + " in block " + std::to_string(step.from) + " are " +
               value_words(seen.to);
      case LS_PRESET_FIND:
        return "of the list at " + hex(seen.from) +
               (seen.to == 0 ? ", none of the first " + std::to_string(step.size) + " nodes"
                             : ", the node at " + hex(seen.to)) +
               " has the number " + std::to_string(static_cast<std::uint32_t>(step.value));
      case LS_PRESET_UNLESS:
        if (seen.held) return comparison(step, seen);
        return comparison(step, seen) + ", so " + std::to_string(step.offset) +
               (step.offset == 1 ? " step is skipped" : " steps are skipped");
      case LS_PRESET_NEED:
        return comparison(step, seen);
      default:
        return label(step, seen);
    }
  }

  const PresetPlan& plan_;
  ReadingStory& made_;
};

}  // namespace

ReadingStory Preset::explain(const ThreadView& thread) const {
  ReadingStory made;
  const PresetPlan* plan = plan_of(thread);
  if (plan == nullptr) {
    made.steps.emplace_back("the plan has no preset of this recipe");
    return made;
  }
  made.steps.push_back("preset " + plan->name + ":");
  std::vector<PresetTraceStep> trace;
  run_preset(*plan, thread, &trace);
  RunStory story(*plan, made);
  for (const PresetTraceStep& seen : trace) story.add(seen);
  const Observation read_now = read(thread);
  for (const Label& label : read_now.labels) made.steps.push_back(label.key + '=' + label.value);
  made.add_outcome(read_now);
  return made;
}

}  // namespace labelscope
