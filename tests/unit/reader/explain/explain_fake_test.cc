// Tests explanations of states in which no live target can be held: slots that the loader has not
// filled, files that cannot be opened, DTVs that lead nowhere.
#include <algorithm>
#include <array>

#include "labelscope/explain.h"
#include "labelscope/plan.h"
#include "sources/check_set.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"
#include "unit/reader/label_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x7f0000000000;
constexpr Address kSlot = kBias + 0x1900;  // one_slot.yaml
constexpr Address kThread = 0x7e0000000000;
constexpr Address kDtv = 0x7c0000001000;
// This address is in no page of any module.
constexpr Address kVariable = 0x7b0000001008;
constexpr Address kMuslBias = 0x7f1000000000;
constexpr const char* kLibrary = "/usr/lib/libcustomlabels.so";

struct Planned {
  ProcessPlan plan;
  PlanTrace trace;
};

Planned plan_traced(const Target& target) {
  Planned planned;
  auto plan = Planner().plan(target, &planned.trace);
  if (!plan) FAIL(plan.error().context);
  planned.plan = *std::move(plan);
  return planned;
}

std::string names_of(const Explanation& told) {
  std::string names;
  for (const Finding& finding : told.findings) {
    names += (names.empty() ? "" : " ") + std::string(finding_name(finding));
  }
  return names;
}

std::string explain(const Target& target) {
  const Planned planned = plan_traced(target);
  const Explanation told = explain_plan(planned.plan, planned.trace);
  for (const std::string& step : told.steps) UNSCOPED_INFO(step);
  return names_of(told);
}

bool tells(const Explanation& told, const std::string& part) {
  return std::any_of(told.steps.begin(), told.steps.end(),
                     [&](const std::string& step) { return step.find(part) != std::string::npos; });
}

// Loads general dynamic code under musl whose slot becomes a recipe of one DTV entry, since the
// plan reads nothing but the slot.
void load_dtv_slot(FakeTarget& target) {
  target.load(kLibrary, elf_from_yaml("one_slot", {"RELOCATION=R_X86_64_DTPMOD64"}), kBias);
  target.load("/lib/ld-musl.so.1", elf_from_yaml("musl"), kMuslBias);
  target.fake_memory().put(kSlot, std::array<std::uint64_t, 2>{2, 0x18});
}

}  // namespace

TEST_CASE("explain_fake: symbols in .symtab alone are reported, and make no publisher") {
  FakeTarget target;
  target.load("/usr/lib/libhidden.so", read_file(fixture_path("exe_symtab_only")), 0x560000000000);
  const Planned planned = plan_traced(target);
  CHECK(planned.plan.publishers.empty());
  CHECK(planned.plan.refusals.empty());
  REQUIRE(planned.trace.modules.size() == 1);
  CHECK(planned.trace.modules[0].refused);
}

TEST_CASE("explain_fake: a slot that is not filled is shown with its words") {
  FakeTarget target;
  target.load(kLibrary, elf_from_yaml("one_slot"), kBias);
  const Planned planned = plan_traced(target);
  const Explanation told = explain_plan(planned.plan, planned.trace);
  CHECK(names_of(told) == "not-relocated");
  CHECK(tells(told, "live words 0x0 0x0: the loader has not filled it yet"));
  CHECK(tells(told, "recipe (unresolved): none yet"));
  const Explanation thread = explain_thread(planned.plan, {kThread}, target.memory());
  CHECK(names_of(thread).empty());
  CHECK(tells(thread, "there is no recipe"));
}

TEST_CASE("explain_fake: a slot that leads nowhere is unresolved") {
  FakeTarget target;
  target.load(kLibrary, elf_from_yaml("one_slot"), kBias);
  target.fake_memory().put(kSlot, std::array<std::uint64_t, 2>{0x10, 0x20});
  CHECK(explain(target) == "unresolved");
}

TEST_CASE("explain_fake: a file that cannot be opened is named, and the others are reported") {
  FakeTarget target;
  load_dtv_slot(target);
  target.load("/usr/lib/libother.so", elf_from_yaml("musl"), 0x7f2000000000);
  target.lose_file("/usr/lib/libother.so");
  CHECK(explain(target) == "unreadable-file no-tlsdesc");
}

TEST_CASE("explain_fake: where a file could not be read, that is the first finding") {
  FakeTarget target;
  target.load("/usr/lib/libother.so", elf_from_yaml("musl"), 0x7f2000000000);
  target.load("/usr/lib/ld-musl.so.1", elf_from_yaml("musl"), kMuslBias);
  target.load(kLibrary, elf_from_yaml("one_slot"), kBias);
  CHECK(explain(target) == "not-relocated");
  target.lose_file(kLibrary);
  const Planned planned = plan_traced(target);
  const Explanation told = explain_plan(planned.plan, planned.trace);
  CHECK(names_of(told) == "unreadable-file no-publisher");
  CHECK(told.findings[0].text.find(kLibrary) != std::string::npos);
  CHECK(told.findings[1].text.starts_with("no file that could be read defines "));
  CHECK(tells(explain_thread(planned.plan, {kThread}, target.memory()), "what could be read"));

  target.lose_file("/usr/lib/libother.so");
  target.lose_file("/usr/lib/ld-musl.so.1");
  CHECK(explain(target) == "unreadable-file unreadable-file unreadable-file no-publisher");
}

TEST_CASE("explain_fake: symbols that could not be read are not called undefined") {
  ProcessPlan plan;
  plan.modules = 1;
  PlanTrace trace;
  ModuleTrace module;
  module.path = kLibrary;
  module.refused = Finding{FindingCode::kUnreadableFile, "its hash table is cut off", {}};
  plan.refusals.push_back({module.path, *module.refused});
  trace.modules.push_back(module);
  const Explanation told = explain_plan(plan, trace);
  CHECK(tells(told, "not read: its hash table is cut off"));
  CHECK_FALSE(tells(told, "is not defined"));
  CHECK(names_of(told) == "unreadable-file");
}

TEST_CASE("explain_fake: a copy that shares the first one's variable is reported as one") {
  FakeTarget target;
  constexpr Address kOther = 0x7f2000000000;
  const std::string file = elf_from_yaml("one_slot", {"RELOCATION=R_X86_64_TPOFF64"});
  target.load(kLibrary, file, kBias);
  target.load("/opt/libcustomlabels.so", file, kOther);
  for (const Address bias : {kBias, kOther}) {
    target.fake_memory().put(bias + 0x1900, static_cast<std::uint64_t>(-32));
  }
  const Planned planned = plan_traced(target);
  CHECK(planned.plan.publishers.size() == 1);
  const Explanation told = explain_plan(planned.plan, planned.trace);
  CHECK(tells(told, "bound its variable to that of /usr/lib/libcustomlabels.so"));
  CHECK(tells(told, "live word 0xffffffffffffffe0"));
  CHECK(tells(told, "the thread pointer minus 0x20"));
}

TEST_CASE("explain_fake: a plan is the same with a trace, and after one") {
  FakeTarget target;
  load_dtv_slot(target);
  Planner planner;
  PlanTrace trace;
  auto traced = planner.plan(target, &trace);
  auto again = planner.plan(target);
  auto untraced = Planner().plan(target);
  REQUIRE((traced && again && untraced));
  for (const ProcessPlan* plan : {&*traced, &*again}) {
    REQUIRE(plan->publishers.size() == 1);
    CHECK(plan->modules == untraced->modules);
    CHECK(plan->publishers[0].recipe.module_id == untraced->publishers[0].recipe.module_id);
    CHECK(plan->publishers[0].findings.size() == untraced->publishers[0].findings.size());
    CHECK(plan->refusals.size() == untraced->refusals.size());
  }
  CHECK(trace.modules.size() + trace.without_symbols == traced->modules);
}

TEST_CASE("explain_fake: a trace looks at every file again") {
  FakeTarget target;
  load_dtv_slot(target);
  Planner planner;
  REQUIRE(planner.plan(target));
  PlanTrace trace;
  REQUIRE(planner.plan(target, &trace));
  CHECK(trace.modules.size() == 1);
  CHECK(trace.without_symbols == 1);
  CHECK(trace.libc == "musl");
}

TEST_CASE("explain_fake: every stage of a DTV is reported") {
  FakeTarget target;
  load_dtv_slot(target);
  const Planned planned = plan_traced(target);
  REQUIRE(planned.plan.publishers.size() == 1);
  REQUIRE(planned.plan.publishers[0].recipe.kind == LS_DTV_SLOT);
  auto told_now = [&] { return explain_thread(planned.plan, {kThread}, target.memory()); };

  CHECK(names_of(told_now()) == "bad-pointer");  // no thread control block at all
  CHECK(tells(told_now(), "cannot be read"));
  target.fake_memory().put(kThread + 8, std::uint64_t{0});
  CHECK(tells(told_now(), "no DTV"));
  target.fake_memory().put(kThread + 8, kDtv);
  CHECK(names_of(told_now()) == "bad-pointer");
  target.fake_memory().put(kDtv, std::uint64_t{1});  // musl: the length
  CHECK(names_of(told_now()) == "never-touched");
  CHECK(tells(told_now(), "has 1 entries, entry 2 is wanted"));
  target.fake_memory().put(kDtv, std::uint64_t{2});
  CHECK(names_of(told_now()) == "never-touched");
  target.fake_memory().put(kDtv + 16, kVariable - 0x18);
  CHECK(names_of(told_now()) == "bad-pointer");  // the block is not there
  target.fake_memory().put(kVariable, LabelMemory::kSet);
  CHECK(names_of(told_now()) == "bad-pointer");  // the set is not there
  target.fake_memory().put(LabelMemory::kSet, RawSet{});
  CHECK(names_of(told_now()).empty());
  CHECK(tells(told_now(), "count is 0"));
}

TEST_CASE("explain_fake: elements are shown with what became of them") {
  FakeTarget target;
  target.load(kLibrary, elf_from_yaml("one_slot", {"RELOCATION=R_X86_64_TPOFF64"}), kBias);
  target.fake_memory().put(kSlot, LabelMemory::kVariable - kThread);
  LabelMemory made;
  RawLabel null_value = made.label("empty", "x");
  null_value.value = {0, 0};
  made.publish({made.label("a", "first"), made.label("a", "second"), RawLabel{}, null_value,
                made.label("long", std::string(5000, 'x'))});
  for (const Address at : {LabelMemory::kVariable, LabelMemory::kSet, LabelMemory::kStorage}) {
    std::array<std::byte, 256> bytes;
    if (made.memory.read(at, bytes)) target.fake_memory().put(at, bytes);
  }
  std::array<std::byte, 8192> strings;
  REQUIRE(made.memory.read(LabelMemory::kStrings, strings));
  target.fake_memory().put(LabelMemory::kStrings, strings);
  const Planned planned = plan_traced(target);
  const Explanation told = explain_thread(planned.plan, {kThread}, target.memory());
  for (const std::string& step : told.steps) UNSCOPED_INFO(step);
  CHECK(tells(told, ": a=first"));
  CHECK(tells(told, "element 2: the key of element 1 again"));
  CHECK(tells(told, "element 3: no key"));
  CHECK(tells(told, "element 4: key of 5 bytes"));
  CHECK(tells(told, "left out"));
  CHECK(tells(told, "outcome: labelled, 1 label"));
  // The findings are those of the check of sets, without its note for writers that a key is there
  // twice.
  CHECK(names_of(told) == "null-value reader-limits");
  const SetCheck checked = check_label_set(target.memory(), LabelMemory::kVariable);
  REQUIRE(checked.diagnostics.size() == 4);
  CHECK(told.findings[0].rule == abi_v1::kValueNotNull);
  CHECK(told.findings[0].text == std::string(kLibrary) + ": " + checked.diagnostics[0].text);
  CHECK(told.findings[0].fix == checked.diagnostics[0].fix);
}

}  // namespace labelscope::test
