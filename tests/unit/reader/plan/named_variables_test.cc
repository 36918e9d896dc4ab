// Tests variables that the user names, planned in made-up processes.
#include <algorithm>
#include <array>
#include <cstring>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x7f0000000000;
constexpr Address kSlot = kBias + 0x1900;
constexpr Address kResolver = 0x7d0000000000;  // of a static descriptor
constexpr Address kThread = 0x7e0000000000;
// In one_slot.yaml this variable is at 0x18 of a block of 0x20 bytes.
constexpr const char* kVariable = "custom_labels_current_set";
constexpr const char* kPath = "/usr/lib/libshop.so.1.2";

// A library with the variable, which one slot with these two words reaches.
class Library : public FakeTarget {
 public:
  explicit Library(const std::vector<std::string>& macros = {}, std::int64_t argument = -64) {
    load(kPath, elf_from_yaml("one_slot", macros), kBias);
    fake_memory().put(kResolver, std::array<unsigned char, 8>{0x48, 0x8b, 0x40, 0x08, 0xc3});
    fake_memory().put(
        kSlot, std::array<std::uint64_t, 2>{kResolver, static_cast<std::uint64_t>(argument)});
  }
};

PlannerOptions only_variables(const std::vector<std::string>& texts) {
  // The library is a publisher by ABI v1, too, which these tests leave out.
  PlannerOptions options{.only = {LS_SOURCE_THREAD_CONTEXT}};
  for (const std::string& text : texts) {
    auto spec = parse_variable_spec(text);
    if (!spec) FAIL(spec.error().context);
    options.variables.push_back(*std::move(spec));
  }
  return options;
}

ProcessPlan plan_of(const Target& target, const std::vector<std::string>& texts,
                    PlanTrace* trace = nullptr) {
  Planner planner(only_variables(texts));
  auto plan = planner.plan(target, trace);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

std::string variable(const std::string& rest) { return kVariable + rest; }

ls_variable parameters_of(const Publisher& publisher) {
  ls_variable walk{};
  std::memcpy(&walk, publisher.recipe.parameters, sizeof walk);
  return walk;
}

}  // namespace

TEST_CASE("named_variables: a variable with a slot of its own") {
  const ProcessPlan plan = plan_of(Library(), {variable(":u64=job")});
  CHECK(plan.missing.empty());
  REQUIRE(plan.facts);
  CHECK(plan.facts->variable_keys == VariableKeys{"job"});
  CHECK_FALSE(plan.facts->has_context());
  REQUIRE(plan.publishers.size() == 1);
  const Publisher& publisher = plan.publishers[0];
  CHECK(publisher.recipe.source == LS_SOURCE_VARIABLE);
  CHECK(publisher.recipe.kind == LS_TP_OFFSET);
  CHECK(publisher.recipe.offset == -64);
  CHECK(publisher.named == variable(":u64"));
  CHECK(publisher_title(publisher) == kPath + (":" + variable(":u64")));
  CHECK(access_text(publisher) == variable(":u64, TLSDESC (static)"));
  CHECK(parameters_of(publisher).size == 8);
  CHECK(plan.sources == "context_tls_v1, " + variable(":u64"));
}

TEST_CASE("named_variables: a slot of another variable shows where the block is") {
  // The slot refers to offset 8 of the block; the variable is at 0x18.
  for (const char* relocation : {"R_X86_64_TLSDESC", "R_X86_64_TPOFF64"}) {
    const bool word = std::string(relocation) == "R_X86_64_TPOFF64";
    Library library({"SYMBOL=0", "ADDEND=8", "RELOCATION=" + std::string(relocation)});
    if (word) library.fake_memory().put(kSlot, std::int64_t{-64});
    const ProcessPlan plan = plan_of(library, {variable(":u64")});
    INFO(relocation);
    REQUIRE(plan.publishers.size() == 1);
    CHECK(plan.publishers[0].recipe.kind == LS_TP_OFFSET);
    CHECK(plan.publishers[0].recipe.offset == -64 + 0x18 - 8);
  }
}

TEST_CASE("named_variables: several of one place are publishers of their own") {
  const Library library;
  const ProcessPlan plan =
      plan_of(library, {variable(":u32=a"), variable("+4:u32=b"), variable(":u32=c")});
  REQUIRE(plan.publishers.size() == 3);
  CHECK(parameters_of(plan.publishers[1]).index == 1);
  CHECK(parameters_of(plan.publishers[1]).offset[0] == 4);
  REQUIRE(plan.facts);
  CHECK(plan.facts->variable_keys == VariableKeys{"a", "b", "c"});
  FakeMemory memory;
  memory.put(kThread - 64, std::array<std::uint32_t, 2>{7, 8});
  const Observation seen =
      observe(plan.recipes(), {kThread, Tid{}, nullptr, plan.facts.get()}, memory);
  CHECK(seen.labels == LabelSet{{"a", "7", 0}, {"b", "8", 1}, {"c", "7", 2}});
}

TEST_CASE("named_variables: the module is a path, or a name with or without its version") {
  const Library library;
  for (const char* module : {"libshop", "libshop.so", "libshop.so.1", "libshop.so.1.2", kPath}) {
    CHECK(plan_of(library, {module + (":" + variable(":u64"))}).publishers.size() == 1);
  }
  for (const char* module : {"libsho", "shop.so", "libshop.so.2", "/lib/libshop.so.1.2"}) {
    const ProcessPlan plan = plan_of(library, {module + (":" + variable(":u64"))});
    CHECK(plan.publishers.empty());
    REQUIRE(plan.missing.size() == 1);
    CHECK(plan.missing[0].finding.text.find("it has loaded no file") == 0);
  }
}

TEST_CASE("named_variables: what is missing is reported with what is like it") {
  const ProcessPlan plan = plan_of(Library(), {"custom_label_current_set:u64", variable(":u8=k")});
  REQUIRE(plan.missing.size() == 1);
  CHECK(plan.missing[0].index == 0);
  const Finding& finding = plan.missing[0].finding;
  CHECK(finding.code == FindingCode::kNoVariable);
  CHECK(finding.text ==
        "no file that it has loaded has a thread-local variable "
        "custom_label_current_set; these are all that there are: " +
            variable(" in ") + kPath);
  CHECK(plan.publishers.size() == 1);
  PlanTrace trace;
  const ProcessPlan traced = plan_of(Library(), {"nothing:u8"}, &trace);
  const auto told = explain_plan(traced, trace);
  REQUIRE_FALSE(told.findings.empty());
  CHECK(told.findings[0].code == FindingCode::kNoVariable);
}

TEST_CASE("named_variables: planned again, a file that is known to be none is still reported") {
  Planner planner(only_variables({"nothing:u8"}));
  const Library library;
  for (int i = 0; i < 2; ++i) {
    auto plan = planner.plan(library);
    REQUIRE(plan);
    REQUIRE(plan->missing.size() == 1);
    CHECK(plan->missing[0].finding.text.find(kVariable) != std::string::npos);
  }
}

TEST_CASE("named_variables: outside of the block is refused") {
  for (const char* rest : {"+1:u64", ":hex9", "+100:u8", "+2147483647:u8", "+1->:u8"}) {
    const ProcessPlan plan = plan_of(Library(), {variable(rest)});
    INFO(rest);
    CHECK(plan.publishers.empty());
    REQUIRE(plan.missing.size() == 1);
    CHECK(plan.missing[0].finding.code == FindingCode::kOutsideBlock);
  }
}

TEST_CASE("named_variables: a variable of the process labels its first thread") {
  const ProcessPlan plan = plan_of(Library(), {"custom_labels_abi_version:u32"});
  REQUIRE(plan.publishers.size() == 1);
  const Publisher& publisher = plan.publishers[0];
  CHECK(publisher.recipe.kind == LS_FIRST_THREAD_AT_ADDRESS);
  CHECK(static_cast<Address>(publisher.recipe.offset) ==
        publisher.load_bias + publisher.variable.value);
  CHECK(publisher.model == AccessModel::kGlobal);
  for (const char* outside : {"custom_labels_abi_version+1:u32", "custom_labels_abi_version:u64"}) {
    const ProcessPlan refused = plan_of(Library(), {outside});
    CHECK(refused.publishers.empty());
    REQUIRE(refused.missing.size() == 1);
    CHECK(refused.missing[0].finding.code == FindingCode::kOutsideBlock);
  }
}

TEST_CASE("named_variables: a slot that is still empty is planned again") {
  Library library;
  library.fake_memory().put(kSlot, std::array<std::uint64_t, 2>{0, 0});
  const ProcessPlan plan = plan_of(library, {variable(":u64")});
  REQUIRE(plan.publishers.size() == 1);
  CHECK(plan.plan_again);
  CHECK(plan.publishers[0].recipe.kind == LS_RECIPE_NOT_RELOCATED);
}

TEST_CASE("named_variables: without any, planning is what it was") {
  Planner planner;
  auto plan = planner.plan(Library());
  REQUIRE(plan);
  REQUIRE(plan->publishers.size() == 1);
  CHECK_FALSE(plan->facts);
  CHECK(plan->publishers[0].named.empty());
  CHECK(publisher_title(plan->publishers[0]) == kPath);
  CHECK(variable_name(plan->publishers[0]) == kVariable);
}

// The program exports nothing: it has local symbols and no slots, and the linker knew the place.
TEST_CASE("named_variables: a program's own variable, from .symtab") {
  FakeTarget target;
  target.load("/bin/shop", read_file(fixture_path("exe_symtab_only")), 0x560000000000, true);
  const ProcessPlan plan = plan_of(target, {variable(":u64")});
  REQUIRE(plan.publishers.size() == 1);
  CHECK(plan.publishers[0].model == AccessModel::kLocalExec);
  CHECK(plan.publishers[0].variable.table == SymbolTable::kSymtab);
  FakeTarget stripped;
  stripped.load("/bin/shop", read_file(fixture_path("exe_stripped")), 0x560000000000, true);
  const ProcessPlan none = plan_of(stripped, {variable(":u64")});
  CHECK(none.publishers.empty());
  REQUIRE(none.missing.size() == 1);
  CHECK(none.missing[0].finding.text.find("name no thread-local variable at all") !=
        std::string::npos);
}

}  // namespace labelscope::test
