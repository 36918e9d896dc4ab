// Tests the rules of OpenTelemetry's record on made-up memory, for cases that compiled violators
// (targets/violators/live) do not show.
#include <set>

#include "findings/check_rule.h"
#include "labelscope/process_facts.h"
#include "sources/label_source.h"
#include "sources/otel_context/rules.h"
#include "support/catch.h"
#include "support/fake_memory.h"
#include "support/otel_bytes.h"

namespace labelscope::test {
namespace {

using otel::Record;
namespace rule = ::labelscope::otel;

constexpr Address kVariable = 0x7000'0ff8;
constexpr Address kRecord = 0x7200'0000;

SetCheck check_record(const Record& record, const ProcessFacts* said, Address at = kRecord) {
  FakeMemory memory;
  memory.put(kVariable, at);
  memory.put_text(at, record.bytes());
  const ThreadState thread{.facts = said};
  return find_source(LS_SOURCE_OTEL_CONTEXT)
      ->check({.memory = memory, .variable = kVariable, .thread = &thread});
}

std::set<RuleId> broken(const SetCheck& check) {
  std::set<RuleId> rules;
  for (const Diagnostic& diagnostic : check.diagnostics) rules.insert(diagnostic.rule);
  return rules;
}

ProcessFacts names() {
  ProcessFacts said;
  said.keys = {"route", "tenant"};
  said.schema = "tls_v1";
  return said;
}

}  // namespace

TEST_CASE(
    "otel_rules: a record that keeps to them is a set of its labels, the last value of a key") {
  const ProcessFacts said = names();
  const SetCheck check = check_record(Record().add(0, "/pay").add(1, "acme").add(0, "/buy"), &said);
  CHECK(check.diagnostics.empty());
  CHECK(check.tested);
  REQUIRE(check.set.state == CheckedSet::State::kSet);
  CHECK(check.set.labels == LabelSet{{"route", "/buy"},
                                     {"span_id", "2222222222222222"},
                                     {"tenant", "acme"},
                                     {"trace_id", "11111111111111111111111111111111"}});
}

TEST_CASE("otel_rules: a mark of 0 is no record, whatever else is there") {
  Record record;
  record.valid = 0;
  record.span.clear();
  record.span.resize(8);
  const SetCheck check = check_record(record, nullptr, kRecord + 1);
  CHECK(check.set.state == CheckedSet::State::kNone);
  CHECK(broken(check) == std::set{rule::kRecordAligned});
}

TEST_CASE("otel_rules: no pointer is no record, and a pointer that cannot be read is nothing") {
  FakeMemory memory;
  const LabelSource& source = *find_source(LS_SOURCE_OTEL_CONTEXT);
  CHECK(source.check({memory, kVariable}).set.state == CheckedSet::State::kUnreadable);
  CHECK(source.check({memory, kVariable}).diagnostics.empty());
  memory.put(kVariable, Address{0});
  CHECK(source.check({memory, kVariable}).set.state == CheckedSet::State::kNone);
}

TEST_CASE("otel_rules: a record of nothing but the mark is no label set and no mistake") {
  Record record;
  record.trace.assign(16, '\0');
  record.span.assign(8, '\0');
  const ProcessFacts said = names();
  const SetCheck check = check_record(record, &said);
  CHECK(check.set.state == CheckedSet::State::kNone);
  CHECK(broken(check) == std::set{rule::kFlagsWithIds});  // the record's flags are 1
}

TEST_CASE("otel_rules: many mistakes are reported once each, with their number, in order") {
  const ProcessFacts said = names();
  Record record =
      Record().add(7, "x").add(8, "\xff").add(1, std::string("\xc3\xa9")).add(9, "\xc3");
  record.trace.assign(16, '\0');
  record.size = static_cast<int>(record.attributes.size()) - 1;
  const SetCheck check = check_record(record, &said);
  REQUIRE(check.diagnostics.size() == 4);
  CHECK(check.diagnostics[0].rule == rule::kIdsTogether);
  CHECK(check.diagnostics[1].rule == rule::kAttributesWhole);
  CHECK(check.diagnostics[2].rule == rule::kAttributesText);
  CHECK(check.diagnostics[2].count == 1);
  CHECK(check.diagnostics[3].rule == rule::kKeyNamed);
  CHECK(check.diagnostics[3].count == 2);
}

TEST_CASE("otel_rules: names are judged only where the process was asked for them") {
  const Record record = Record().add(3, "x");
  CHECK(broken(check_record(record, nullptr)) == std::set{rule::kKeysPublished});
  FakeMemory memory;
  memory.put(kVariable, kRecord);
  memory.put_text(kRecord, record.bytes());
  const SetCheck check = find_source(LS_SOURCE_OTEL_CONTEXT)->check({memory, kVariable});
  CHECK(check.diagnostics.empty());
  CHECK(check.set.labels.front() == Label{"key 3", "x"});
}

TEST_CASE("otel_rules: a process with records says their schema, unless it says what is wrong") {
  ProcessFacts said = names();
  CHECK(broken(check_record(Record(), nullptr)) == std::set{rule::kKeysPublished});
  said.schema.clear();
  CHECK(broken(check_record(Record(), &said)) == std::set{rule::kKeysPublished});
  said.findings.push_back({FindingCode::kContextVersion, "", "", rule::kContextVersion});
  CHECK(broken(check_record(Record(), &said)) == std::set{rule::kContextVersion});
}

TEST_CASE("otel_rules: a key that is empty in the map is no key behind its end") {
  ProcessFacts said = names();
  said.keys[1].clear();
  const SetCheck check = check_record(Record().add(1, "x"), &said);
  REQUIRE(check.diagnostics.size() == 1);
  CHECK(check.diagnostics[0].rule == rule::kKeyNamed);
  CHECK(check.diagnostics[0].text.find("empty in the key map") != std::string::npos);
}

TEST_CASE("otel_rules: UTF-8 is that of RFC 3629") {
  const auto is_text = [](std::string_view value) {
    return broken(check_record(Record().add(0, value), nullptr)).count(rule::kAttributesText) == 0;
  };
  for (const char* good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80",
                           "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_text(good));
  }
  for (const char* bad : {"\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    CHECK_FALSE(is_text(bad));
  }
}

}  // namespace labelscope::test
