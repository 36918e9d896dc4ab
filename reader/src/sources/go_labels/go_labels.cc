// GoLabels combines two parts: go_runtime.h reads the file, go_walk.h the thread.
#include "sources/go_labels/go_labels.h"

#include "base/text.h"
#include "sources/file_inspection.h"
#include "sources/go_labels/go_runtime.h"
#include "sources/go_labels/go_walk.h"

namespace labelscope {
namespace {

using Slot = GoRuntime::Slot;

// Returns null if there is none.
const GoRuntime* runtime_of(const FileInspection& file) {
  return static_cast<const GoRuntime*>(file.own.get());
}

std::string shown_version(const GoRuntime& go) {
  return go.version.empty() ? "of unknown version" : go.version;
}

std::string known_versions() {
  return "Go 1." + std::to_string(kOldestGo) + " to 1." + std::to_string(kNewestGo);
}

Finding unknown_version(const GoRuntime& go) {
  std::string text = "its Go runtime is " + shown_version(go) + ", and the layout of " +
                     known_versions() + " is known";
  const char* fix = go.minor > kNewestGo ? "look for a newer labelscope"
                    : go.minor == 0      ? "do not strip it: runtime.buildVersion has the version"
                                         : "build it with a newer Go";
  return {FindingCode::kGoVersion, std::move(text), fix};
}

std::string slot_text(const GoRuntime& go) {
  switch (go.slot) {
    case Slot::kOffset:
      return "TLS, " + distance_from("the thread pointer", go.offset);
    case Slot::kGot:
      return "TLS, at the distance that the loader writes to " + hex(go.got);
    case Slot::kRegister:
      return "register x28";
    case Slot::kNone:
      return "that of the program (a plugin)";
    case Slot::kUnknown:
      break;
  }
  return "not found";
}

// The loader writes the offset to the GOT before any code of the module runs.
AccessPlan reach_by_got(const Reachable& publisher, Address slot) {
  AccessPlan plan;
  const Target& target = publisher.target;
  auto offset = read_value<std::int64_t>(target.memory(), slot);
  if (publisher.trace != nullptr) {
    SlotTrace trace{{TlsRelocationKind::kTpOff, runtime_of(publisher.file)->got, 0, false},
                    slot,
                    {},
                    {},
                    offset.has_value()};
    if (offset) trace.words.push_back(static_cast<std::uint64_t>(*offset));
    publisher.trace->slots.push_back(std::move(trace));
  }
  if (offset && *offset != 0) {
    plan.model = AccessModel::kInitialExec;
    plan.recipe = tp_offset(*offset);
    return plan;
  }
  const bool waits = target.is_alive();
  plan.recipe.kind = waits ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  plan.findings.push_back(
      {waits ? FindingCode::kNotRelocated : FindingCode::kUnresolved,
       "the word at " + hex(slot) + ", which has the distance of Go's slot, " +
           (offset ? "is not filled" : "cannot be read: " + offset.error().context),
       waits ? "look again when the library is loaded" : kWholeCore});
  return plan;
}

}  // namespace

GoLabels::GoLabels()
    : LabelSource({.number = LS_SOURCE_GO,
                   .name = "runtime/pprof",
                   .sign = "a runtime of Go",
                   .waiting = "goroutines of Go",
                   .publishes_anyway = true}) {}

Status GoLabels::find(const ElfImage& image, bool, FileInspection& file) const {
  auto go = find_go_runtime(image);
  if (!go) return std::move(go).error();
  if (*go) file.own = std::make_shared<GoRuntime>(**go);
  return {};
}

bool GoLabels::declares(const FileInspection& file) const {
  const GoRuntime* go = runtime_of(file);
  return go != nullptr && go->slot != Slot::kNone;
}

Status GoLabels::study(const ElfImage& image, FileInspection& file) const {
  auto go = std::make_shared<GoRuntime>(*runtime_of(file));
  Status searched = find_go_slot(image, *go);
  // A program is not a plugin.
  if (file.executable && go->slot == Slot::kNone) go->slot = Slot::kUnknown;
  file.own = std::move(go);
  return searched;
}

void GoLabels::judge(std::string_view, FileInspection& file) const {
  if (!declares(file)) return;
  const GoRuntime& go = *runtime_of(file);
  if (!go_layout(go.minor)) file.findings.push_back(unknown_version(go));
  if (go.slot == Slot::kUnknown) {
    file.findings.push_back({FindingCode::kGoSlot,
                             "where its runtime keeps the goroutine that runs was not found in its "
                             "code",
                             "report it, with the version of Go and how the file was linked"});
  }
  conclude(file);
  if (file.findings.empty()) file.verdict = Verdict::kCompliant;
  if (go.slot == Slot::kOffset) file.access.push_back(FileAccess::kLocalExec);
  if (go.slot == Slot::kGot) file.access.push_back(FileAccess::kInitialExec);
}

AccessPlan GoLabels::reach(const Reachable& publisher) const {
  const GoRuntime& go = *runtime_of(publisher.file);
  const Address bias = publisher.module.load_bias;
  const auto layout = go_layout(go.minor);
  AccessPlan plan;
  if (!layout || go.slot == Slot::kUnknown) return plan;  // the file's findings have the reason
  if (go.slot == Slot::kGot) {
    plan = reach_by_got(publisher, bias + go.got);
  } else if (go.slot == Slot::kRegister) {
    plan.model = AccessModel::kRegister;
    plan.recipe.kind = LS_IN_REGISTER;
  } else {
    plan.model = AccessModel::kLocalExec;
    plan.recipe = tp_offset(go.offset);
  }
  put_parameters({*layout, bias + go.text, bias + go.text + go.text_size}, plan.recipe);
  return plan;
}

std::vector<SourceDetail> GoLabels::details(const FileInspection& file) const {
  const GoRuntime* go = runtime_of(file);
  if (go == nullptr) return {};
  const auto layout = go_layout(go->minor);
  std::vector<SourceDetail> details{{"runtime", "Go " + shown_version(*go)},
                                    {"goroutine", "in " + slot_text(*go)}};
  if (layout) details.push_back({"labels", layout->least_mark != 0 ? "a map" : "a slice"});
  return details;
}

Observation GoLabels::read(const ThreadView& thread) const {
  return walk_go_labels(thread.memory, *thread.recipe, thread.variable, thread.thread->tid,
                        thread.publisher);
}

ReadingStory GoLabels::explain(const ThreadView& thread) const {
  ReadingStory story;
  GoTrace trace;
  const Observation seen = walk_go_labels(thread.memory, *thread.recipe, thread.variable,
                                          thread.thread->tid, thread.publisher, &trace);
  const auto step = [&](std::string text) { story.steps.push_back(std::move(text)); };
  const auto links = [&](const char* what, const std::optional<Address>& address) {
    if (address) step(std::string(what) + " " + (*address == 0 ? "none" : hex(*address)));
  };
  links("the goroutine (g):", trace.g);
  links("its thread's record (m):", trace.m);
  if (trace.procid) step("that record is of thread " + std::to_string(*trace.procid));
  links("the user's goroutine there (curg):", trace.curg);
  links("its labels:", trace.labels);
  if ((seen.flags & LS_NO_GOROUTINE) != 0) {
    step(
        "so the thread runs no goroutine now: it schedules, sleeps, or runs code that is not Go's");
  }
  if (trace.count != 0) {
    step("they are " + std::to_string(trace.count) +
         (parameters_of(*thread.recipe).layout.least_mark == 0
              ? " in a slice"
              : " in a map, of which " + std::to_string(trace.buckets) + " buckets were read"));
  }
  for (const Label& label : seen.labels) step(label.key + "=" + label.value);
  if (!trace.problem.empty()) {
    step(trace.problem);
    const bool lost = seen.outcome == LS_UNREADABLE_NOT_RESIDENT;
    story.findings.push_back({lost ? FindingCode::kBadPointer : FindingCode::kGoChain,
                              trace.problem,
                              "look again; if it stays so, the file's version of Go is not the one "
                              "that it names, or foreign code uses the place of the labels"});
  }
  story.add_outcome(seen);
  return story;
}

}  // namespace labelscope
