// Tests Elastic APM's correlation: records made by hand, read directly and as raw bytes.
#include <algorithm>
#include <string>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "sources/label_codec.h"
#include "sources/label_source.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kTp = 0x7000'1000;
constexpr Address kVariable = kTp - 8;
constexpr Address kRecord = 0x7200'0ff0;  // across a page

struct Record {
  char valid = 1;
  char present = 1;
  std::string trace = std::string(16, '\x11');
  std::string span = std::string(8, '\x22');
  std::string transaction = std::string(8, '\x33');
  std::string bytes() const {
    return std::string{1, 0, valid, present, 1} + trace + span + transaction;
  }
};

ls_tls_recipe recipe_of_elastic() {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = -8;
  recipe.source = LS_SOURCE_ELASTIC;
  return recipe;
}

// Both ways to the labels must agree.
Observation observe_record(const Record& record) {
  FakeMemory memory;
  memory.put(kVariable, kRecord);
  memory.put_text(kRecord, record.bytes());
  const ls_tls_recipe recipe = recipe_of_elastic();
  Observation seen = observe({&recipe, 1}, {kTp}, memory);
  std::vector<std::byte> bytes;
  const Observation later = observe_as_bytes({&recipe, 1}, {kTp}, memory, bytes);
  CHECK(later.outcome == seen.outcome);
  if (later.outcome == LS_LABELLED) CHECK(decode_label_bytes(bytes).labels == seen.labels);
  return seen;
}

}  // namespace

TEST_CASE("elastic_context: the IDs are labels, as far as they are set") {
  CHECK(observe_record({}).labels == LabelSet{{"trace_id", "11111111111111111111111111111111"},
                                              {"span_id", "2222222222222222"},
                                              {"transaction_id", "3333333333333333"}});
  Record record;
  record.transaction.assign(8, '\0');
  CHECK(observe_record(record).labels.size() == 2);
}

TEST_CASE("elastic_context: no trace, a record that is being written and an empty one are none") {
  for (const char present : {'\0', '\2'}) {
    Record record;
    record.present = present;
    CHECK(observe_record(record).outcome == LS_UNLABELLED);
  }
  Record record;
  record.valid = 0;
  CHECK(observe_record(record).outcome == LS_UNLABELLED);
  record.valid = 7;  // "non-zero after the update"
  CHECK(observe_record(record).outcome == LS_LABELLED);
  record.trace.assign(16, '\0');
  record.span = record.transaction = std::string(8, '\0');
  CHECK(observe_record(record).outcome == LS_UNLABELLED);
}

TEST_CASE("elastic_context: a pointer to nothing is unreadable, and no pointer is no record") {
  FakeMemory memory;
  const ls_tls_recipe recipe = recipe_of_elastic();
  CHECK(observe({&recipe, 1}, {kTp}, memory).outcome == LS_UNREADABLE_NOT_RESIDENT);
  memory.put(kVariable, Address{0});
  CHECK(observe({&recipe, 1}, {kTp}, memory).outcome == LS_UNLABELLED);
  memory.put(kVariable, kRecord);
  CHECK(observe({&recipe, 1}, {kTp}, memory).outcome == LS_UNREADABLE_NOT_RESIDENT);
  ProcessPlan plan;
  plan.publishers.resize(1);
  plan.publishers[0].recipe = recipe;
  const Explanation told = explain_thread(plan, {kTp}, memory);
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].code == FindingCode::kBadPointer);
}

TEST_CASE("elastic_context: bytes that no walk sends are malformed") {
  const LabelSource& source = *find_source(LS_SOURCE_ELASTIC);
  Record record;
  const std::string bytes = record.bytes();
  const auto decode = [&](const std::string& raw) {
    return source.decode(std::as_bytes(std::span(raw)), 0, {}).outcome;
  };
  CHECK(decode(bytes) == LS_LABELLED);
  CHECK(decode(bytes.substr(1)) == LS_UNREADABLE_MALFORMED);
  CHECK(decode(bytes + "x") == LS_UNREADABLE_MALFORMED);
  record.valid = 0;
  CHECK(decode(record.bytes()) == LS_UNREADABLE_MALFORMED);
}

}  // namespace labelscope::test
