// explain_thread(): the plan's recipes applied to one thread, and what each read gave in sentences.
//
// locate() and walk_label_set() do the work and keep a trace (locate_trace.h, walk_trace.h); here it
// is told. What is wrong with a label set, check_label_set() says.
#include <optional>

#include "base/text.h"
#include "labels/walk_trace.h"
#include "labelscope/check_set.h"
#include "labelscope/explain.h"
#include "labelscope/label_walk.h"
#include "recipe/locate_trace.h"

namespace labelscope {
namespace {

std::string at(Address base, std::int64_t offset) {
  return hex(base + static_cast<std::uint64_t>(offset));
}

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

// One publisher in one thread.
class ThreadStory {
 public:
  ThreadStory(const Publisher& publisher, Address thread_pointer, Explanation& told)
      : publisher_(publisher),
        recipe_(publisher.recipe),
        thread_pointer_(thread_pointer),
        told_(told) {}

  void tell_location(const Located& located, const LocateTrace& trace);
  void tell_labels(Address variable, const Observation& seen, const WalkTrace& trace);
  void tell_broken_rules(const SetCheck& check);

 private:
  void step(std::string text) { told_.steps.push_back("  " + std::move(text)); }
  void find(Finding finding) {
    finding.text = publisher_.path + ": " + finding.text;
    told_.findings.push_back(std::move(finding));
  }
  void tell_dtv(const Located& located, const LocateTrace& trace);
  void tell_never_touched(const LocateTrace& trace);
  void tell_element(std::size_t index, const WalkTrace& trace);
  void tell_elements(const WalkTrace& trace);

  const Publisher& publisher_;
  const ls_tls_recipe& recipe_;
  Address thread_pointer_;
  Explanation& told_;
};

void ThreadStory::tell_location(const Located& located, const LocateTrace& trace) {
  if (recipe_.kind == LS_RECIPE_NOT_RELOCATED || recipe_.kind == LS_RECIPE_NONE) {
    step("there is no recipe: " + (publisher_.findings.empty()
                                       ? std::string("see the plan")
                                       : finding_clause(publisher_.findings.front())));
    return;
  }
  if (located.outcome == LS_UNREADABLE_NO_THREAD_POINTER) {
    step("the thread pointer is not known, or 0: the thread is starting or ending");
    return;
  }
  if (recipe_.kind == LS_DTV_SLOT) tell_dtv(located, trace);
  if (located.address) {
    const char* base = recipe_.kind == LS_TP_OFFSET ? "the thread pointer" : "the block";
    step("the variable is at " + hex(*located.address) + ", " +
         distance_from(base, recipe_.offset));
  }
}

void ThreadStory::tell_dtv(const Located& located, const LocateTrace& trace) {
  const std::string pointer_at = at(thread_pointer_, recipe_.dtv_offset);
  const char* fix = "check that the process is one of glibc or musl and not in the middle of exec";
  if (!trace.dtv) {
    step("the word at " + pointer_at + ", which leads to the thread's DTV, cannot be read");
    find({FindingCode::kBadPointer, "the thread's DTV cannot be found", fix});
    return;
  }
  step("the word at " + pointer_at + " (" +
       distance_from("the thread pointer", recipe_.dtv_offset) +
       ") leads to the thread's DTV: " + hex(*trace.dtv));
  if (trace.length) {
    std::string text = "the DTV has " + std::to_string(*trace.length) + " entries, entry " +
                       std::to_string(recipe_.module_id) + " is wanted";
    if (trace.generation) {
      text += "; its generation is " + std::to_string(*trace.generation) + ", at least " +
              std::to_string(recipe_.generation) + " is wanted";
    }
    step(std::move(text));
  }
  if (trace.block) {
    step("entry " + std::to_string(recipe_.module_id) + " at " +
         at(*trace.dtv, static_cast<std::int64_t>(recipe_.module_id) * recipe_.entry_size) +
         " holds the block's address: " + hex(*trace.block));
  }
  if ((located.flags & LS_NEVER_TOUCHED) != 0) {
    tell_never_touched(trace);
  } else if (!located.address) {
    step(*trace.dtv == 0 ? std::string("the thread has no DTV (yet)")
                         : "the DTV at " + hex(*trace.dtv) + " cannot be read");
    find({FindingCode::kBadPointer, "the thread's DTV at " + hex(*trace.dtv) + " cannot be read",
          fix});
  }
}

void ThreadStory::tell_never_touched(const LocateTrace& trace) {
  std::string why = "its DTV has no block for module " + std::to_string(recipe_.module_id);
  if (trace.length && *trace.length < recipe_.module_id) {
    why = "its DTV ends before module " + std::to_string(recipe_.module_id);
  } else if (trace.generation && *trace.generation < recipe_.generation) {
    why = "its DTV is older than the module";
  }
  step("so this thread has never touched the variable, and has no labels");
  find({FindingCode::kNeverTouched, "this thread has never touched the variable: " + why,
        "set a label in this thread; until then it has none"});
}

void ThreadStory::tell_labels(Address variable, const Observation& seen, const WalkTrace& trace) {
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

void ThreadStory::tell_elements(const WalkTrace& trace) {
  for (std::size_t i = 0; i < trace.elements.size(); ++i) tell_element(i, trace);
  if (trace.head->count <= LS_MAX_SLOTS) return;
  step("only the first " + std::to_string(LS_MAX_SLOTS) + " elements are looked at");
}

// What the strict check of the set finds. Notes are about what is legal, and keep no label away.
void ThreadStory::tell_broken_rules(const SetCheck& check) {
  for (const Diagnostic& broken : check.diagnostics) {
    if (rule_of(broken.rule).severity == Severity::kNote) continue;
    Finding finding = broken;
    if (broken.count > 1) finding.text += " (" + std::to_string(broken.count) + " times)";
    find(std::move(finding));
  }
}

void ThreadStory::tell_element(std::size_t index, const WalkTrace& trace) {
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

Explanation explain_thread(const ProcessPlan& plan, Address thread_pointer,
                           const MemorySource& memory) {
  Explanation told;
  told.steps.push_back("thread pointer " + hex(thread_pointer));
  if (plan.publishers.empty()) {
    told.steps.emplace_back(
        plan.refusals.empty()
            ? "no file of the process publishes labels, so there are none to read"
            : "no publisher was found in what could be read, so there are no labels to read");
  }
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    told.steps.push_back(publisher.path + " (" + std::string(access_model_name(publisher.model)) +
                         "):");
    ThreadStory story(publisher, thread_pointer, told);
    LocateTrace way;
    const Located located = locate(publisher.recipe, thread_pointer, memory, &way);
    story.tell_location(located, way);
    if (!located.address) continue;
    WalkTrace walk;
    const Observation seen =
        walk_label_set(memory, *located.address, static_cast<std::uint8_t>(i), &walk);
    story.tell_labels(*located.address, seen, walk);
    story.tell_broken_rules(check_label_set(memory, *located.address));
  }
  return told;
}

}  // namespace labelscope
