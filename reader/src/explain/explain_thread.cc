// explain_thread() applies the plan's recipes to one thread, and writes the result of each read in
// sentences.
//
// locate() does its work and keeps a trace, which this file writes as sentences. The variable's
// source writes those about its content.

#include "base/text.h"
#include "labelscope/explain.h"
#include "recipe/locate_trace.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

std::string at(Address base, std::int64_t offset) {
  return hex(base + static_cast<std::uint64_t>(offset));
}

// The explanation of one publisher in one thread.
class ThreadStory {
 public:
  ThreadStory(const Publisher& publisher, Address thread_pointer, Explanation& explanation)
      : publisher_(publisher),
        recipe_(publisher.recipe),
        thread_pointer_(thread_pointer),
        explanation_(explanation) {}

  void explain_location(const Located& located, const LocateTrace& trace);
  void explain_reading(ReadingStory reading);

 private:
  void step(std::string text) { explanation_.steps.push_back("  " + std::move(text)); }
  void find(Finding finding) {
    finding.text = publisher_.path + ": " + finding.text;
    explanation_.findings.push_back(std::move(finding));
  }
  void explain_dtv(const Located& located, const LocateTrace& trace);
  void explain_never_touched(const LocateTrace& trace);

  const Publisher& publisher_;
  const ls_tls_recipe& recipe_;
  Address thread_pointer_;
  Explanation& explanation_;
};

void ThreadStory::explain_location(const Located& located, const LocateTrace& trace) {
  if (recipe_.kind == LS_RECIPE_NOT_RELOCATED || recipe_.kind == LS_RECIPE_NONE) {
    step("there is no recipe: " + (publisher_.findings.empty()
                                       ? std::string("see the plan")
                                       : finding_clause(publisher_.findings.front())));
    return;
  }
  if (located.outcome == LS_UNREADABLE_NO_THREAD_POINTER) {
    step(recipe_.kind == LS_IN_REGISTER
             ? std::string("register x28 is not known, or 0")
             : "the thread pointer is not known, or 0: the thread is starting or ending");
    return;
  }
  if (recipe_.kind == LS_DTV_SLOT) explain_dtv(located, trace);
  if (recipe_.kind == LS_IN_REGISTER) return step("register x28 is " + hex(*located.address));
  if (publisher_.model == AccessModel::kPreset && recipe_.kind != LS_TP_OFFSET &&
      recipe_.kind != LS_DTV_SLOT) {
    if (!located.address) step("only the first thread of the process has these labels");
    return;
  }
  if (recipe_.kind == LS_AT_ADDRESS || recipe_.kind == LS_FIRST_THREAD_AT_ADDRESS) {
    return step(located.address
                    ? "the process has the variable once, at " + hex(*located.address)
                    : std::string("the process has the variable once, and only its first thread "
                                  "has a label from it: this is another thread"));
  }
  if (located.address) {
    const char* base = recipe_.kind == LS_TP_OFFSET ? "the thread pointer" : "the block";
    step("the variable is at " + hex(*located.address) + ", " +
         distance_from(base, recipe_.offset));
  }
}

void ThreadStory::explain_dtv(const Located& located, const LocateTrace& trace) {
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
    explain_never_touched(trace);
  } else if (!located.address) {
    step(*trace.dtv == 0 ? std::string("the thread has no DTV (yet)")
                         : "the DTV at " + hex(*trace.dtv) + " cannot be read");
    find({FindingCode::kBadPointer, "the thread's DTV at " + hex(*trace.dtv) + " cannot be read",
          fix});
  }
}

void ThreadStory::explain_never_touched(const LocateTrace& trace) {
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

void ThreadStory::explain_reading(ReadingStory reading) {
  for (std::string& text : reading.steps) step(std::move(text));
  for (Finding& finding : reading.findings) find(std::move(finding));
}

}  // namespace

Explanation explain_thread(const ProcessPlan& plan, const ThreadState& thread,
                           const MemorySource& memory) {
  Explanation explanation;
  ThreadState state = thread;
  state.facts = plan.facts.get();
  state.presets = &plan.presets;
  explanation.steps.push_back("thread pointer " + hex(thread.thread_pointer));
  if (plan.publishers.empty()) {
    explanation.steps.emplace_back(
        plan.refusals.empty()
            ? "no file of the process publishes labels, so there are none to read"
            : "no publisher was found in what could be read, so there are no labels to read");
  }
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    explanation.steps.push_back(publisher.path + " (" + access_text(publisher) + "):");
    ThreadStory story(publisher, thread.thread_pointer, explanation);
    LocateTrace way;
    const bool in_block =
        publisher.recipe.kind == LS_TP_OFFSET || publisher.recipe.kind == LS_DTV_SLOT;
    const Located located = in_block ? locate(publisher.recipe, thread.thread_pointer, memory, &way)
                                     : locate(publisher.recipe, thread, memory);
    story.explain_location(located, way);
    if (!located.address) continue;
    const LabelSource* source = find_source(publisher.recipe.source);
    if (source == nullptr) continue;
    story.explain_reading(source->explain(
        {memory, *located.address, static_cast<std::uint8_t>(i), &publisher.recipe, &state}));
  }
  return explanation;
}

}  // namespace labelscope
