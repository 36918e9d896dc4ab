// Tests OpenTelemetry's thread context of node, read by the kernel side and by the reader: both
// must agree.
#include <cstdint>
#include <string>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "native/native_reader.h"
#include "native/node_memory.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

const LabelSet kLabels{{"trace_id", "11111111111111111111111111111111", 0},
                       {"span_id", "2222222222222222", 0},
                       {"route", "/pay", 0}};

Observation observe_both(const NodeMemory& node) {
  ProcessFacts facts;
  facts.keys = {"route"};
  const Observation kernel =
      NativeReader(node.memory).observe({&node.recipe, 1}, NodeMemory::kThreadPointer, {&facts});
  const Observation seen =
      observe({&node.recipe, 1}, {NodeMemory::kThreadPointer, Tid{}, nullptr, &facts}, node.memory);
  CHECK(outcome_name(kernel.outcome) == outcome_name(seen.outcome));
  CHECK(kernel.labels == seen.labels);
  CHECK(kernel.flags == seen.flags);
  return seen;
}

ls_outcome outcome_of(const NodeMemory& node) {
  const Observation seen = observe_both(node);
  CHECK(seen.labels.empty());
  return static_cast<ls_outcome>(seen.outcome);
}

void expect_labels(const NodeMemory& node) {
  const Observation seen = observe_both(node);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.labels == kLabels);
}

}  // namespace

TEST_CASE("node_context: each writer's way from an object to its record") {
  NodeMemory node;
  expect_labels(node);
  node.memory.put(NodeMemory::kObject + 32, Address{0});
  CHECK(outcome_of(node) == LS_UNLABELLED);
  const Numbers newer{
      {"tagged_size", 8}, {"js_map_table_offset", 24}, {"ordered_hash_map_header_size", 16}};
  SECTION("5.16") {
    node.memory.put(NodeMemory::kObject + 40, NodeMemory::kNative);
    node.memory.put(NodeMemory::kNative + 24, NodeMemory::kRecord);
    node.adapt({{"wrapped_object_offset", 40}, {"tagged_size", 8}});
    expect_labels(node);
  }
  SECTION("5.17") {
    node.memory.put(NodeMemory::kObject + 40, NodeMemory::kNative);
    node.memory.put(NodeMemory::kNative, NodeMemory::kRecord);
    Numbers numbers = newer;
    numbers.insert(numbers.end(),
                   {{"wrapped_object_offset", 40}, {"native_wrap_fields_offset", 0}});
    node.adapt(numbers);
    expect_labels(node);
    node.memory.put(NodeMemory::kObject + 40, Address{0});
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("5.19") {
    node.memory.put(NodeMemory::kObject + 40, NodeMemory::kRecord);
    Numbers numbers = newer;
    numbers.emplace_back("js_object_record_offset", 40);
    node.adapt(numbers);
    expect_labels(node);
    node.memory.put(NodeMemory::kSlot, NodeMemory::object(NodeMemory::kUndefined));
    CHECK(outcome_of(node) == LS_UNLABELLED);
    node.memory.put(NodeMemory::kEntry + 24, Address{0x7fff'0000});
    CHECK(outcome_of(node) == LS_UNREADABLE_NOT_RESIDENT);
  }
  SECTION("none is reported") {
    node.adapt(Numbers{});
    CHECK(outcome_of(node) == LS_UNREADABLE_NO_KEYS);
  }
  SECTION("numbers that are no offsets") {
    for (const std::int64_t bad : {std::int64_t{-8}, std::int64_t{65535}, INT64_MIN, INT64_MAX}) {
      Numbers numbers = newer;
      numbers.emplace_back("js_object_record_offset", bad);
      node.adapt(numbers);
      CHECK(outcome_of(node) == LS_UNREADABLE_NO_KEYS);
    }
    node.adapt({{"tagged_size", 4}, {"js_object_record_offset", 40}});
    CHECK(outcome_of(node) == LS_UNREADABLE_NO_KEYS);
  }
}

TEST_CASE("node_context: a bucket is followed to the key's entry") {
  NodeMemory node;
  node.put_numbers(NodeMemory::small(2), NodeMemory::small(1),
                   NodeMemory::small(NodeMemory::kBuckets));
  node.put_head(NodeMemory::kHash % NodeMemory::kBuckets, NodeMemory::small(2));
  node.put_entry(2, 5, 5, NodeMemory::small(1));
  node.put_entry(1, 9, 9, NodeMemory::small(0));
  expect_labels(node);
  SECTION("that is not there") {
    node.put_entry(1, 9, 9, NodeMemory::kEnd);
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("in a circle") {
    node.put_entry(1, 9, 9, NodeMemory::small(2));
    CHECK(outcome_of(node) == LS_UNREADABLE_MALFORMED);
  }
  SECTION("beyond the table") {
    node.put_entry(1, 9, 9, NodeMemory::small(3));
    CHECK(outcome_of(node) == LS_UNREADABLE_MALFORMED);
  }
  SECTION("that is just moved") {
    node.put_entry(1, 9, 9, NodeMemory::object(NodeMemory::kTable));
    CHECK(outcome_of(node) == LS_UNREADABLE_TORN);
  }
}

TEST_CASE("node_context: no record, and what is no frame") {
  NodeMemory node;
  SECTION("no frame") {
    node.memory.put(NodeMemory::kSlot, NodeMemory::object(NodeMemory::kUndefined));
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("a closed entry") {
    node.memory.put(NodeMemory::kEntry, Address{0});
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("an entry that was set to undefined") {
    node.put_entry(0, NodeMemory::object(NodeMemory::kKey),
                   NodeMemory::object(NodeMemory::kUndefined), NodeMemory::kEnd);
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("a record that is not valid") {
    otel::Record record;
    record.valid = 0;
    node.memory.put_text(NodeMemory::kRecord, record.bytes());
    CHECK(outcome_of(node) == LS_UNLABELLED);
  }
  SECTION("words that are no objects") {
    for (const Address place : {NodeMemory::kSlot, NodeMemory::kMap + 24}) {
      NodeMemory other;
      other.memory.put(place, NodeMemory::small(4));
      CHECK(outcome_of(other) == LS_UNREADABLE_MALFORMED);
    }
    node.put_entry(0, NodeMemory::object(NodeMemory::kKey), NodeMemory::small(7), NodeMemory::kEnd);
    CHECK(outcome_of(node) == LS_UNREADABLE_MALFORMED);
  }
  SECTION("numbers of a table that no map has") {
    for (const std::uint32_t buckets : {0U, 3U, 6U}) {
      node.put_numbers(NodeMemory::small(1), 0, NodeMemory::small(buckets));
      CHECK(outcome_of(node) == LS_UNREADABLE_MALFORMED);
    }
    node.put_numbers(NodeMemory::object(NodeMemory::kTable), 0, NodeMemory::small(4));
    CHECK(outcome_of(node) == LS_UNREADABLE_TORN);
  }
  SECTION("memory that is not there, at each step") {
    for (const Address page : {NodeMemory::kSlot, NodeMemory::kMap, NodeMemory::kTable,
                               NodeMemory::kObject, NodeMemory::kRecord}) {
      NodeMemory other;
      other.memory.unmap_page(page);
      CHECK(outcome_of(other) == LS_UNREADABLE_NOT_RESIDENT);
    }
  }
}

TEST_CASE("node_context: what is explained has the outcome of the reading") {
  NodeMemory node;
  const LabelSource& source = *find_source(LS_SOURCE_NODE);
  const ThreadState thread{NodeMemory::kThreadPointer, Tid{}, nullptr, nullptr};
  const ThreadView view{node.memory, NodeMemory::kEntry, 0, &node.recipe, &thread};
  CHECK(source.explain(view).steps.back() == "outcome: labelled, 2 labels");
  node.put_head(NodeMemory::kHash % NodeMemory::kBuckets, NodeMemory::small(8));
  const ReadingStory told = source.explain(view);
  CHECK(told.steps.back() == "outcome: malformed, 0 labels");
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].text.find("number of a map's entry: 0x8") != std::string::npos);
}
