// Tests OpenTelemetry's thread context: records made by hand, read directly and as raw bytes.
#include <algorithm>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/process_facts.h"
#include "sources/label_codec.h"
#include "sources/label_source.h"
#include "support/catch.h"
#include "support/fake_memory.h"
#include "support/otel_bytes.h"

namespace labelscope::test {
namespace {

using otel::Record;

constexpr Address kTp = 0x7000'1000;
constexpr Address kVariable = kTp - 8;
constexpr Address kRecord = 0x7200'0ff8;  // its attributes are on the next page

const LabelSet kIds{{"trace_id", "11111111111111111111111111111111", 0},
                    {"span_id", "2222222222222222", 0}};
const std::string kNoTrace(16, '\0');
const std::string kNoSpan(8, '\0');

ls_tls_recipe recipe_of_context() {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = -8;
  recipe.source = LS_SOURCE_OTEL_CONTEXT;
  return recipe;
}

ProcessFacts facts() {
  ProcessFacts said;
  said.keys = {"datadog.local_root_span_id", "route", "", "span_id"};
  return said;
}

void put_record(FakeMemory& memory, const Record& record) {
  memory.put(kVariable, kRecord);
  memory.put_text(kRecord, record.bytes());
}

// Both ways to the labels must agree.
Observation observe_record(const Record& record, const ProcessFacts* said) {
  FakeMemory memory;
  put_record(memory, record);
  const ls_tls_recipe recipe = recipe_of_context();
  const ThreadState thread{kTp, Tid{1}, nullptr, said};
  Observation seen = observe({&recipe, 1}, thread, memory);
  std::vector<std::byte> bytes;
  Observation later = observe_as_bytes({&recipe, 1}, thread, memory, bytes);
  const Observation decoded = decode_label_bytes(bytes, {said});
  if (later.outcome == LS_LABELLED) later.outcome = decoded.outcome;
  CHECK(later.outcome == seen.outcome);
  CHECK((later.flags | decoded.flags) == seen.flags);
  CHECK(decoded.labels == seen.labels);
  return seen;
}

Observation observe_record(const Record& record) {
  const ProcessFacts said = facts();
  return observe_record(record, &said);
}

LabelSet and_ids(LabelSet others) {
  LabelSet all = kIds;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

TEST_CASE("otel_context: IDs are hexadecimal digits, and attributes have their names") {
  const Observation seen =
      observe_record(Record().add(0, "00000000000000aa").add(1, "/pay").add(1, ""));
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.labels ==
        and_ids({{"datadog.local_root_span_id", "00000000000000aa", 0}, {"route", "", 0}}));
  CHECK(seen.flags == LS_DUPLICATE_KEY);
  CHECK(observe_record(Record()).labels == kIds);
  CHECK(observe_record(Record()).flags == 0);
}

TEST_CASE("otel_context: of equal keys the last one counts, and an ID is no attribute's") {
  const Observation seen = observe_record(Record().add(1, "/a").add(1, "/b").add(3, "mine"));
  CHECK(seen.labels == and_ids({{"route", "/b", 0}}));
}

TEST_CASE("otel_context: a local root span of zeros is none") {
  const std::string zeros(16, '0');
  CHECK(observe_record(Record().add(0, zeros)).labels == kIds);
  CHECK(observe_record(Record().add(0, zeros).add(1, "0")).labels == and_ids({{"route", "0", 0}}));
  // The last one of several counts.
  CHECK(observe_record(Record().add(0, "00000000000000aa").add(0, zeros)).labels == kIds);
  const Record nothing = Record{kNoTrace, kNoSpan, 1, "", -1}.add(0, zeros);
  CHECK(observe_record(nothing).labels.empty());
  CHECK(observe_record(nothing).outcome == LS_UNLABELLED);
}

TEST_CASE("otel_context: no pointer, no mark, and nothing in it are no labels") {
  Record record;
  record.valid = 0;
  CHECK(observe_record(record).outcome == LS_UNLABELLED);
  record.valid = 2;
  CHECK(observe_record(record).outcome == LS_UNLABELLED);
  record = {kNoTrace, kNoSpan, 1, "", -1};
  CHECK(observe_record(record).outcome == LS_UNLABELLED);
  FakeMemory memory;
  memory.put(kVariable, Address{0});
  const ls_tls_recipe recipe = recipe_of_context();
  CHECK(observe({&recipe, 1}, {kTp}, memory).outcome == LS_UNLABELLED);
}

TEST_CASE("otel_context: a key without a name is left out and reported, alone it is the reason") {
  const Observation seen = observe_record(Record().add(9, "x").add(2, "y").add(1, "/pay"));
  CHECK(seen.labels == and_ids({{"route", "/pay", 0}}));
  CHECK(seen.flags == LS_UNKNOWN_KEY);
  CHECK(observe_record(Record().add(1, "/pay"), nullptr).labels == kIds);
  Record bare{kNoTrace, kNoSpan, 1, "", -1};
  bare.add(9, "x");
  CHECK(observe_record(bare).outcome == LS_UNREADABLE_NO_KEYS);
  CHECK(observe_record(bare, nullptr).outcome == LS_UNREADABLE_NO_KEYS);
}

TEST_CASE("otel_context: an attribute that is not whole ends them") {
  Record record = Record().add(1, "/pay");
  for (const std::string& end : {std::string("\x01"), std::string("\x01\x05hell")}) {
    Record cut = record;
    cut.attributes += end;
    const Observation seen = observe_record(cut);
    CHECK(seen.labels == and_ids({{"route", "/pay", 0}}));
    CHECK(seen.flags == LS_INCOMPLETE_LABEL);
  }
  // The size says where the attributes end, whatever follows.
  record.size = 3;
  CHECK(observe_record(record).labels == kIds);
  CHECK(observe_record(record).flags == LS_INCOMPLETE_LABEL);
  Record nothing{kNoTrace, kNoSpan, 1, "\x01", -1};
  CHECK(observe_record(nothing).outcome == LS_UNREADABLE_MALFORMED);
}

TEST_CASE(
    "otel_context: more attributes than are read are cut, and that is no fault of the record's") {
  Record record;
  while (record.attributes.size() < std::size_t{2} * LS_MAX_LABEL_BYTES)
    record.add(1, std::string(250, 'x'));
  const Observation seen = observe_record(record);
  CHECK(seen.labels.size() == 3);
  CHECK(seen.flags == (LS_TRUNCATED_BYTES | LS_DUPLICATE_KEY));
  record.attributes = {};
  record.size = 65535;
  CHECK(observe_record(record).outcome ==
        LS_LABELLED);  // the fake page holds zeros: key 0, no value
}

TEST_CASE("otel_context: memory that is not there is said to be so") {
  const ls_tls_recipe recipe = recipe_of_context();
  const auto outcome_of = [&](const FakeMemory& memory) {
    return observe({&recipe, 1}, {kTp}, memory).outcome;
  };
  CHECK(outcome_of(FakeMemory()) == LS_UNREADABLE_NOT_RESIDENT);
  FakeMemory memory;
  put_record(memory, Record().add(1, "/pay"));
  memory.unmap_page(kRecord + 28);
  CHECK(outcome_of(memory) == LS_UNREADABLE_NOT_RESIDENT);
  memory.unmap_page(kRecord);
  CHECK(outcome_of(memory) == LS_UNREADABLE_NOT_RESIDENT);
  memory.put(kVariable, ~Address{0} - 3);
  CHECK(outcome_of(memory) == LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("otel_context: is explained step by step") {
  ProcessPlan plan;
  plan.publishers.emplace_back();
  plan.publishers[0].path = "/lib/libtracer.so";
  plan.publishers[0].recipe = recipe_of_context();
  const auto told_of = [&](const Record& record) {
    FakeMemory memory;
    put_record(memory, record);
    return explain_thread(plan, {kTp}, memory);
  };
  const auto tells = [](const Explanation& told, std::string_view part) {
    return std::ranges::any_of(
        told.steps, [&](const std::string& step) { return step.find(part) != std::string::npos; });
  };
  Explanation told = told_of(Record().add(1, "/pay"));
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kKeyMapMissing);
  plan.facts = std::make_shared<ProcessFacts>(facts());
  told = told_of(Record().add(1, "/pay"));
  CHECK(told.findings.empty());
  CHECK(tells(told, "trace 11111111111111111111111111111111, span 2222222222222222"));
  CHECK(tells(told, "key 1, route=/pay"));
  told = told_of(Record().add(77, "x"));
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kUnknownKey);
  Record record;
  record.valid = 3;
  told = told_of(record);
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kRecordInvalid);
  record.valid = 0;
  CHECK(told_of(record).findings.empty());
  record = Record();
  record.attributes = "\x01";
  told = told_of(record);
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kIncompleteAttribute);
}

TEST_CASE("otel_context: raw bytes of any size are decoded within them") {
  const LabelSource& source = *find_source(LS_SOURCE_OTEL_CONTEXT);
  const std::string whole = Record().add(1, "/pay").bytes();
  const ProcessFacts said = facts();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string copy = whole.substr(0, size);  // allocated, so that a sanitizer sees reads
                                                     // beyond
    const Observation seen = source.decode(std::as_bytes(std::span<const char>(copy)), 0, {&said});
    CHECK(seen.outcome == (size < 28 ? LS_UNREADABLE_MALFORMED : LS_LABELLED));
    CHECK(seen.labels.size() == (size < 28 ? 0U : size < whole.size() ? 2U : 3U));
  }
}

}  // namespace labelscope::test
