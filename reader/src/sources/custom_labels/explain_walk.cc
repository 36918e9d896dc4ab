// The walk of one label set, told: walk_label_set() does the work and keeps a trace. What is wrong
// with the set, check_label_set() says.
#include "labelscope/check_set.h"
#include "labelscope/text.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/custom_labels/label_walk.h"

namespace labelscope {
namespace {

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

class SetStory {
 public:
  void tell_broken_rules(const SetCheck& check);
  void tell_labels(Address variable, const Observation& seen, const WalkTrace& trace);
  ReadingStory take() { return std::move(told_); }

 private:
  void step(std::string text) { told_.steps.push_back(std::move(text)); }
  void tell_element(std::size_t index, const WalkTrace& trace);
  void tell_elements(const WalkTrace& trace);

  ReadingStory told_;
};

void SetStory::tell_labels(Address variable, const Observation& seen, const WalkTrace& trace) {
  if (!trace.set) {
    step("the variable at " + hex(variable) + " cannot be read");
    return;
  }
  if (*trace.set == 0) {
    step("it is null: the thread has no labels now");
    return;
  }
  if (!trace.head) {
    step("it holds " + hex(*trace.set) + ", where no label set can be read");
    return;
  }
  step("it holds " + hex(*trace.set) + ": a label set with storage " + hex(trace.head->storage) +
       ", count " + std::to_string(trace.head->count) + ", capacity " +
       std::to_string(trace.head->capacity));
  if (trace.head->count == 0) {
    step("count is 0: the thread has no labels now");
    return;
  }
  if (trace.array_read) {
    tell_elements(trace);
  } else if (trace.head->storage != 0) {
    step("the array at " + hex(trace.head->storage) + " cannot be read");
  }
  step("outcome: " + std::string(outcome_name(seen.outcome)) + ", " +
       std::to_string(seen.labels.size()) + (seen.labels.size() == 1 ? " label" : " labels"));
}

void SetStory::tell_elements(const WalkTrace& trace) {
  for (std::size_t i = 0; i < trace.elements.size(); ++i) tell_element(i, trace);
  if (trace.head->count <= LS_MAX_SLOTS) return;
  step("only the first " + std::to_string(LS_MAX_SLOTS) + " elements are looked at");
}

// What the strict check of the set finds. Notes are about what is legal, and keep no label away.
void SetStory::tell_broken_rules(const SetCheck& check) {
  for (const Diagnostic& broken : check.diagnostics) {
    if (rule_of(broken.rule).severity == Severity::kNote) continue;
    Finding finding = broken;
    if (broken.count > 1) finding.text += " (" + std::to_string(broken.count) + " times)";
    told_.findings.push_back(std::move(finding));
  }
}

void SetStory::tell_element(std::size_t index, const WalkTrace& trace) {
  const ElementTrace& element = trace.elements[index];
  const std::string head = "element " + std::to_string(index + 1) + ": ";
  const std::string key = "key of " + bytes(element.key_length) + " at " + hex(element.key_address);
  const std::string value =
      "value of " + bytes(element.value_length) + " at " + hex(element.value_address);
  switch (element.fate) {
    case ElementFate::kNoKey:
      step(head + "no key, so it is skipped");
      return;
    case ElementFate::kNullValue:
      step(head + key + ", but its value is null: not shown");
      return;
    case ElementFate::kImpossible:
      step(head + key + ", " + value + ": this leaves the address space");
      return;
    case ElementFate::kBeyondLabels:
      step(head + "one label more than the " + std::to_string(LS_MAX_LABELS) +
           " that are read of a set");
      return;
    case ElementFate::kBeyondBytes:
      step(head + key + ", " + value + ": left out, a set is read up to " +
           bytes(LS_MAX_LABEL_BYTES));
      return;
    case ElementFate::kUnreadable:
      step(head + key + ", " + value + ": cannot be read, so nothing of the set counts");
      return;
    case ElementFate::kKept:
      break;
  }
  if (!element.read) {
    step(head + key + ", " + value + ": not read");
    return;
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (trace.elements[i].fate != ElementFate::kKept || trace.elements[i].key != element.key)
      continue;
    step(head + "the key of element " + std::to_string(i + 1) + " again, so it does not count");
    return;
  }
  step(head + key + ", " + value + ": " + element.key + "=" + element.value);
}

}  // namespace

ReadingStory CustomLabels::explain(const ThreadView& thread) const {
  WalkTrace trace;
  const Observation seen = walk_label_set(thread.memory, thread.variable, thread.publisher, &trace);
  SetStory story;
  story.tell_labels(thread.variable, seen, trace);
  story.tell_broken_rules(check_label_set(thread.memory, thread.variable));
  return story.take();
}

}  // namespace labelscope
