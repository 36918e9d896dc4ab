// The walk is two reads. A stopped thread shows one moment: while its mark is 0, it has no trace,
// as if there were none.
#include "sources/elastic_context/elastic_context.h"

#include <array>
#include <cstring>
#include <span>

#include "base/text.h"
#include "sources/file_inspection.h"
#include "sources/otel_context/record.h"

namespace labelscope {
namespace {

constexpr const char* kSymbol = "elastic_apm_profiling_correlation_tls_v1";

struct Record {
  std::array<std::uint8_t, 2> version;
  std::uint8_t valid;
  std::uint8_t trace_present;
  std::uint8_t trace_flags;
  std::array<std::byte, 16> trace_id;
  std::array<std::byte, 8> span_id;
  std::array<std::byte, 8> transaction_id;
};
static_assert(sizeof(Record) == 37);
constexpr std::string_view kIds[] = {"trace_id", "span_id", "transaction_id"};

LabelSet labels_of(const Record& record, std::uint8_t publisher) {
  LabelSet labels;
  if (record.valid == 0 || record.trace_present != 1) return labels;
  otel::add_id(record.trace_id, "trace_id", publisher, labels);
  otel::add_id(record.span_id, "span_id", publisher, labels);
  otel::add_id(record.transaction_id, "transaction_id", publisher, labels);
  return labels;
}

struct Walk {
  std::optional<Address> pointer;
  std::optional<Record> record;
};

Walk walk(const ThreadView& thread) {
  Walk seen;
  const auto pointer = read_value<Address>(thread.memory, thread.variable);
  if (!pointer) return seen;
  seen.pointer = thread.memory.untagged(*pointer);
  if (*seen.pointer == 0) return seen;
  const auto record = read_value<Record>(thread.memory, *seen.pointer);
  if (record) seen.record = *record;
  return seen;
}

ls_outcome outcome_of(const Walk& seen) {
  if (!seen.pointer) return LS_UNREADABLE_NOT_RESIDENT;
  if (*seen.pointer == 0) return LS_UNLABELLED;
  if (!seen.record) return LS_UNREADABLE_NOT_RESIDENT;
  return labels_of(*seen.record, 0).empty() ? LS_UNLABELLED : LS_LABELLED;
}

}  // namespace

ElasticContext::ElasticContext()
    : LabelSource({.number = LS_SOURCE_ELASTIC,
                   .name = kSymbol,
                   .variable_symbol = kSymbol,
                   .id_bytes = sizeof(Record),
                   .ids = kIds}) {}

// Its description requires this name; every other file that exports the variable is read, too.
bool ElasticContext::is_publisher_name(std::string_view path) const {
  return base_name(path).starts_with("elastic-jvmti-linux-");
}

void ElasticContext::judge(std::string_view, FileInspection& file) const {
  judge_variable(file, kSymbol, sizeof(Address), "define it as a pointer of 8 bytes");
}

RawReading ElasticContext::take(const ThreadView& thread) const {
  const Walk seen = walk(thread);
  RawReading raw{outcome_of(seen), 0, {}};
  if (raw.outcome != LS_LABELLED) return raw;
  const auto bytes = std::as_bytes(std::span(&*seen.record, 1));
  raw.bytes.assign(bytes.begin(), bytes.end());
  return raw;
}

Observation ElasticContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                   const Meanings&) const {
  Record record;
  if (raw.size() != sizeof record) return {LS_UNREADABLE_MALFORMED, 0, {}};
  std::memcpy(&record, raw.data(), sizeof record);
  LabelSet labels = labels_of(record, publisher);
  // Only records with labels are sent, so a record without any is malformed.
  if (labels.empty()) return {LS_UNREADABLE_MALFORMED, 0, {}};
  return {LS_LABELLED, 0, std::move(labels)};
}

ReadingStory ElasticContext::explain(const ThreadView& thread) const {
  ReadingStory story;
  const Walk seen = walk(thread);
  if (!seen.pointer) {
    story.add_unreadable("the pointer", thread.variable);
    return story;
  }
  if (!seen.record && *seen.pointer != 0) {
    story.add_unreadable("the record", *seen.pointer);
    return story;
  }
  if (!seen.record) {
    story.steps.emplace_back("the pointer is null: the thread has no record now");
    return story;
  }
  const Record& record = *seen.record;
  story.steps.push_back("the pointer leads to a record at " + hex(*seen.pointer) + ": trace " +
                        hex_bytes(record.trace_id) + ", span " + hex_bytes(record.span_id) +
                        ", transaction " + hex_bytes(record.transaction_id));
  if (record.valid == 0) {
    story.steps.emplace_back("its mark is 0: the thread just changes it");
  } else if (record.trace_present != 1) {
    story.steps.emplace_back("it says that there is no trace now");
  }
  story.add_outcome(read(thread));
  return story;
}

}  // namespace labelscope
