// The walk of one label set, told: walk_label_set() does the work and keeps a trace.
#include "labelscope/text.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/custom_labels/label_walk.h"

namespace labelscope {
namespace {

constexpr const char* kWriterFault =
    "the writer must set the pointer only when all that it leads to is in place, and set it to "
    "null before it frees the set";

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

class SetStory {
 public:
  void tell_labels(Address variable, const Observation& seen, const WalkTrace& trace);
  ReadingStory take() { return std::move(told_); }

 private:
  void step(std::string text) { told_.steps.push_back(std::move(text)); }
  void find(FindingCode code, std::string text, std::string fix) {
    told_.findings.push_back({code, std::move(text), std::move(fix)});
  }
  void tell_element(std::size_t index, const WalkTrace& trace);
  void tell_missing_array(const WalkTrace::Head& head);
  void tell_elements(const WalkTrace& trace);

  ReadingStory told_;
};

void SetStory::tell_labels(Address variable, const Observation& seen, const WalkTrace& trace) {
  if (!trace.set) {
    step("the variable at " + hex(variable) + " cannot be read");
    find(FindingCode::kBadPointer,
         "the memory of the variable, " + hex(variable) + ", is not there or not resident", {});
    return;
  }
  if (*trace.set == 0) {
    step("it is null: the thread has no labels now");
    return;
  }
  if (!trace.head) {
    step("it holds " + hex(*trace.set) + ", where no label set can be read");
    find(FindingCode::kBadPointer,
         "the pointer to the label set, " + hex(*trace.set) + ", leads to memory that is not there",
         kWriterFault);
    return;
  }
  step("it holds " + hex(*trace.set) + ": a label set with storage " + hex(trace.head->storage) +
       ", count " + std::to_string(trace.head->count) + ", capacity " +
       std::to_string(trace.head->capacity));
  if (trace.head->count == 0) {
    step("count is 0: the thread has no labels now");
    return;
  }
  if (trace.head->storage == 0) {
    find(FindingCode::kMalformedSet,
         "the label set at " + hex(*trace.set) + " has a count of " +
             std::to_string(trace.head->count) + " and no storage",
         kWriterFault);
  } else if (!trace.array_read) {
    tell_missing_array(*trace.head);
  } else {
    tell_elements(trace);
  }
  step("outcome: " + std::string(outcome_name(seen.outcome)) + ", " +
       std::to_string(seen.labels.size()) + (seen.labels.size() == 1 ? " label" : " labels"));
}

void SetStory::tell_missing_array(const WalkTrace::Head& head) {
  step("the array at " + hex(head.storage) + " cannot be read");
  if (head.count > LS_MAX_SLOTS) {
    find(FindingCode::kMalformedSet,
         "the label set has a count of " + std::to_string(head.count) + ", but no such array at " +
             hex(head.storage),
         kWriterFault);
    return;
  }
  find(FindingCode::kBadPointer,
       "the array of labels, " + hex(head.storage) + ", leads to memory that is not there",
       kWriterFault);
}

void SetStory::tell_elements(const WalkTrace& trace) {
  for (std::size_t i = 0; i < trace.elements.size(); ++i) tell_element(i, trace);
  if (trace.head->count <= LS_MAX_SLOTS) return;
  step("only the first " + std::to_string(LS_MAX_SLOTS) + " elements are looked at");
  // The end of the address space, in elements of 32 bytes: no array is longer.
  constexpr std::uint64_t kMostElements = (1ULL << 57) / 32;
  if (trace.head->count > kMostElements) {
    find(FindingCode::kMalformedSet,
         "the label set has an impossible count, " + std::to_string(trace.head->count),
         kWriterFault);
  }
}

void SetStory::tell_element(std::size_t index, const WalkTrace& trace) {
  const ElementTrace& element = trace.elements[index];
  const std::string head = "element " + std::to_string(index) + ": ";
  const std::string key = "key of " + bytes(element.key_length) + " at " + hex(element.key_address);
  const std::string value =
      "value of " + bytes(element.value_length) + " at " + hex(element.value_address);
  switch (element.fate) {
    case ElementFate::kNoKey:
      step(head + "no key, so it is skipped");
      return;
    case ElementFate::kNullValue:
      step(head + key + ", but its value is null: not shown");
      find(FindingCode::kNullValue,
           "element " + std::to_string(index) + " has a key and a null value",
           "an empty value needs a pointer that is not null; to remove a label, set its key to "
           "null");
      return;
    case ElementFate::kImpossible:
      step(head + key + ", " + value + ": this leaves the address space");
      find(FindingCode::kMalformedSet,
           "element " + std::to_string(index) + " has an impossible pointer or length",
           kWriterFault);
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
      find(FindingCode::kBadPointer,
           "the strings of element " + std::to_string(index) + " (" + key + ", " + value +
               ") are not there",
           kWriterFault);
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
    step(head + "the key of element " + std::to_string(i) + " again, so it does not count");
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
  return story.take();
}

}  // namespace labelscope
