// Tests the thread context as the reader judges and reports it, compared with the library that
// writes it.
#include "customlabels/thread_context.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "sources/label_codec.h"
#include "sources/label_source.h"
#include "sources/thread_context/rules.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

using Record = thread_context_record_t;

constexpr Address kTp = 0x7000'1000;
constexpr Address kVariable = kTp - 128;

ls_tls_recipe recipe_of_context() {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = -128;
  recipe.source = LS_SOURCE_THREAD_CONTEXT;
  return recipe;
}

Observation observe_record(const Record& record) {
  FakeMemory memory;
  memory.put(kVariable, record);
  const ls_tls_recipe recipe = recipe_of_context();
  return observe({&recipe, 1}, {kTp}, memory);
}

// Returns the record as the library leaves it.
template <class Write>
Record written_by(Write write) {
  thread_context_clear();
  write();
  return *thread_context_record();
}

Record whole() {
  const std::uint32_t tags[] = {7, 0, 4294967295U};
  return written_by([&] { thread_context_put_all(0x2a, 0xfedcba9876543210U, tags, 3); });
}

}  // namespace

TEST_CASE("thread_context: what the library writes is read as labels") {
  const Observation seen = observe_record(whole());
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.labels == LabelSet{{"span_id", "000000000000002a", 0},
                                {"root_span_id", "fedcba9876543210", 0},
                                {"tag0", "7", 0},
                                {"tag2", "4294967295", 0}});
}

TEST_CASE("thread_context: no context is no labels, IDs of 0 are a context") {
  CHECK(observe_record(written_by([] {})).outcome == LS_UNLABELLED);
  CHECK(observe_record(written_by([] { thread_context_set_tag(3, 5); })).outcome == LS_UNLABELLED);
  const Observation zeros = observe_record(written_by([] { thread_context_put(0, 0); }));
  CHECK(zeros.outcome == LS_LABELLED);
  REQUIRE(zeros.labels.size() == 2);
  CHECK(zeros.labels[0].value == "0000000000000000");
}

TEST_CASE("thread_context: a record that is being written, or does not fit, is torn") {
  Record record = whole();
  record.checksum = 0;
  CHECK(observe_record(record).outcome == LS_UNREADABLE_TORN);
  for (const auto change : {&Record::span_id, &Record::root_span_id, &Record::checksum}) {
    record = whole();
    record.*change ^= 0x100;
    CHECK(observe_record(record).outcome == LS_UNREADABLE_TORN);
  }
  // The halves of the root are swapped, and so are both IDs: the checksum must depend on the order.
  record = whole();
  std::swap(record.span_id, record.root_span_id);
  CHECK(observe_record(record).outcome == LS_UNREADABLE_TORN);
}

TEST_CASE("thread_context: memory that is not there is said to be so") {
  const ls_tls_recipe recipe = recipe_of_context();
  CHECK(observe({&recipe, 1}, {kTp}, FakeMemory()).outcome == LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("thread_context: a recipe of an unknown source is unreadable") {
  ls_tls_recipe recipe = recipe_of_context();
  recipe.source = LS_SOURCE_COUNT;
  FakeMemory memory;
  memory.put(kVariable, whole());
  CHECK(observe({&recipe, 1}, {kTp}, memory).outcome == LS_UNREADABLE_NO_RECIPE);
}

TEST_CASE("thread_context: bytes of another size, or torn ones, decode to nothing") {
  const LabelSource& source = *find_source(LS_SOURCE_THREAD_CONTEXT);
  Record record = whole();
  const auto bytes = std::as_bytes(std::span(&record, 1));
  CHECK(source.decode(bytes, 1, {}).labels.size() == 4);
  const auto is_malformed = [&](std::span<const std::byte> raw) {
    const Observation seen = source.decode(raw, 1, {});
    return seen.outcome == LS_UNREADABLE_MALFORMED && seen.labels.empty();
  };
  CHECK(is_malformed(bytes.first(63)));
  CHECK(is_malformed({}));
  record.checksum ^= 1;
  CHECK(is_malformed(bytes));
}

TEST_CASE("thread_context: is explained step by step") {
  ProcessPlan plan;
  plan.publishers.emplace_back();
  plan.publishers[0].path = "/lib/libx.so";
  plan.publishers[0].recipe = recipe_of_context();
  const auto told_of = [&](const Record& record) {
    FakeMemory memory;
    memory.put(kVariable, record);
    return explain_thread(plan, {kTp}, memory);
  };
  const auto tells = [](const Explanation& told, std::string_view part) {
    return std::any_of(told.steps.begin(), told.steps.end(), [&](const std::string& step) {
      return step.find(part) != std::string::npos;
    });
  };
  Explanation told = told_of(whole());
  CHECK(tells(told, "span 0x2a, root span 0xfedcba9876543210"));
  CHECK(tells(told, "tag0=7"));
  CHECK(told.findings.empty());
  CHECK(tells(told_of({}), "no context now"));
  Record record = whole();
  record.checksum = 0;
  told = told_of(record);
  CHECK(tells(told, "just writing"));
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kTornRecord);
}

TEST_CASE("thread_context: a check finds a checksum that does not fit, and no write in progress") {
  const auto check_of = [](const Record& record) {
    FakeMemory memory;
    memory.put(kVariable, record);
    return find_source(LS_SOURCE_THREAD_CONTEXT)->check({memory, kVariable});
  };
  SetCheck check = check_of(whole());
  CHECK(check.diagnostics.empty());
  CHECK(check.tested);
  CHECK(check.set.state == CheckedSet::State::kSet);
  CHECK(check.set.labels.size() == 4);
  check = check_of({});
  CHECK_FALSE(check.tested);
  CHECK(check.set.state == CheckedSet::State::kNone);
  Record record = whole();
  record.checksum = 0;
  CHECK(check_of(record).diagnostics.empty());
  record.checksum = 1;
  check = check_of(record);
  REQUIRE(check.diagnostics.size() == 1);
  CHECK(check.diagnostics[0].rule == context_v1::kChecksum);
  CHECK_FALSE(find_source(LS_SOURCE_THREAD_CONTEXT)->check({FakeMemory(), kVariable}).tested);
}

}  // namespace labelscope::test
