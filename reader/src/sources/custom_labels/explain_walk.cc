// This writes the walk of one label set in sentences: walk_label_set() does the work and keeps a
// trace. check_label_set() finds what is wrong with the set.
#include "base/text.h"
#include "findings/check_rule.h"
#include "sources/check_set.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/custom_labels/label_walk.h"

namespace labelscope {
namespace {

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

// Returns what became of one element.
std::string element_text(std::size_t index, const WalkTrace& trace) {
  const ElementTrace& element = trace.elements[index];
  const std::string head = "element " + std::to_string(index + 1) + ": ";
  const std::string key = "key of " + bytes(element.key_length) + " at " + hex(element.key_address);
  const std::string value =
      "value of " + bytes(element.value_length) + " at " + hex(element.value_address);
  switch (element.fate) {
    case ElementFate::kNoKey:
      return head + "no key, so it is skipped";
    case ElementFate::kNullValue:
      return head + key + ", but its value is null: not shown";
    case ElementFate::kImpossible:
      return head + key + ", " + value + ": this leaves the address space";
    case ElementFate::kBeyondLabels:
      return head + "one label more than the " + std::to_string(LS_MAX_LABELS) +
             " that are read of a set";
    case ElementFate::kBeyondBytes:
      return head + key + ", " + value + ": left out, a set is read up to " +
             bytes(LS_MAX_LABEL_BYTES);
    case ElementFate::kUnreadable:
      return head + key + ", " + value + ": cannot be read, so nothing of the set counts";
    case ElementFate::kKept:
      break;
  }
  if (!element.read) {
    return head + key + ", " + value + ": not read";
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (trace.elements[i].fate != ElementFate::kKept || trace.elements[i].key != element.key)
      continue;
    return head + "the key of element " + std::to_string(i + 1) + " again, so it does not count";
  }
  return head + key + ", " + value + ": " + element.key + "=" + element.value;
}

void explain_labels(Address variable, const Observation& seen, const WalkTrace& trace,
                    ReadingStory& story) {
  const auto step = [&](std::string text) { story.steps.push_back(std::move(text)); };
  if (!trace.set) {
    return step("the variable at " + hex(variable) + " cannot be read");
  }
  if (*trace.set == 0) {
    return step("it is null: the thread has no labels now");
  }
  if (!trace.head) {
    return step("it holds " + hex(*trace.set) + ", where no label set can be read");
  }
  step("it holds " + hex(*trace.set) + ": a label set with storage " + hex(trace.head->storage) +
       ", count " + std::to_string(trace.head->count) + ", capacity " +
       std::to_string(trace.head->capacity));
  if (trace.head->count == 0) {
    return step("count is 0: the thread has no labels now");
  }
  if (trace.array_read) {
    for (std::size_t i = 0; i < trace.elements.size(); ++i) step(element_text(i, trace));
    if (trace.head->count > LS_MAX_SLOTS) {
      step("only the first " + std::to_string(LS_MAX_SLOTS) + " elements are looked at");
    }
  } else if (trace.head->storage != 0) {
    step("the array at " + hex(trace.head->storage) + " cannot be read");
  }
  story.add_outcome(seen);
}

// Adds what the strict check of the set finds. Notes are about what is legal, and keep no label
// away.
void add_broken_rules(const SetCheck& check, std::vector<Finding>& findings) {
  for (const Diagnostic& broken : check.diagnostics) {
    if (rule_of(broken.rule).severity == Severity::kNote) continue;
    Finding finding = broken;
    if (broken.count > 1) finding.text += " (" + std::to_string(broken.count) + " times)";
    findings.push_back(std::move(finding));
  }
}

}  // namespace

ReadingStory CustomLabels::explain(const ThreadView& thread) const {
  WalkTrace trace;
  const Observation seen = walk_label_set(thread.memory, thread.variable, thread.publisher, &trace);
  ReadingStory story;
  explain_labels(thread.variable, seen, trace, story);
  add_broken_rules(check_label_set(thread.memory, thread.variable), story.findings);
  return story;
}

}  // namespace labelscope
