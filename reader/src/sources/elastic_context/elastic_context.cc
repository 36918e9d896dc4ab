// Two reads. A thread that stands still shows one moment: while its mark is 0 it has no trace to
// show, as where there is none.
#include "sources/elastic_context/elastic_context.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "sources/file_facts.h"

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

void add_id(std::span<const std::byte> id, const char* key, std::uint8_t publisher,
            LabelSet& labels) {
  const bool set = std::ranges::any_of(id, [](std::byte byte) { return byte != std::byte{0}; });
  if (set) labels.push_back({key, hex_bytes(id), publisher});
}

LabelSet labels_of(const Record& record, std::uint8_t publisher) {
  LabelSet labels;
  if (record.valid == 0 || record.trace_present != 1) return labels;
  add_id(record.trace_id, "trace_id", publisher, labels);
  add_id(record.span_id, "span_id", publisher, labels);
  add_id(record.transaction_id, "transaction_id", publisher, labels);
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
    : LabelSource({LS_SOURCE_ELASTIC, kSymbol, nullptr, kSymbol, {}}) {}

// Its description asks for this name; every other one that exports the variable is read, too.
bool ElasticContext::is_publisher_name(std::string_view path) const {
  return base_name(path).starts_with("elastic-jvmti-linux-");
}

void ElasticContext::judge(std::string_view, FileInspection& file) const {
  const auto& variable = best_of(file.variable);
  if (!variable) return;
  const auto find = [&](FindingCode code, const char* text, const char* fix) {
    file.findings.push_back(
        {code, std::string(kSymbol) + text, fix, RuleId::kNone, Harm::kUnreadable});
  };
  if (!expect_in_reach(file, kSymbol)) return conclude(file);
  if (variable->type != STT_TLS) {
    find(FindingCode::kNotThreadLocal, " is not thread-local", "declare it __thread");
  } else if (variable->size != sizeof(Address)) {
    find(FindingCode::kVariableSize, " is no pointer", "define it as a pointer of 8 bytes");
  }
  conclude(file);
  if (file.findings.empty()) file.verdict = Verdict::kCompliant;  // it has no numbered rules
}

RawReading ElasticContext::take(const ThreadView& thread) const {
  const Walk seen = walk(thread);
  RawReading raw{outcome_of(seen), 0, {}};
  if (raw.outcome != LS_LABELLED) return raw;
  const auto bytes = std::as_bytes(std::span(&*seen.record, 1));
  raw.bytes.assign(bytes.begin(), bytes.end());
  return raw;
}

Observation ElasticContext::read(const ThreadView& thread) const {
  const Walk seen = walk(thread);
  const ls_outcome outcome = outcome_of(seen);
  return {outcome, 0,
          outcome == LS_LABELLED ? labels_of(*seen.record, thread.publisher) : LabelSet{}};
}

Observation ElasticContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                   const ProcessFacts*) const {
  Record record;
  if (raw.size() != sizeof record) return {LS_UNREADABLE_MALFORMED, 0, {}};
  std::memcpy(&record, raw.data(), sizeof record);
  LabelSet labels = labels_of(record, publisher);
  // Only records with labels are sent.
  if (labels.empty()) return {LS_UNREADABLE_MALFORMED, 0, {}};
  return {LS_LABELLED, 0, std::move(labels)};
}

ReadingStory ElasticContext::explain(const ThreadView& thread) const {
  ReadingStory told;
  const Walk seen = walk(thread);
  if (!seen.record && (!seen.pointer || *seen.pointer != 0)) {
    const std::string what = seen.pointer ? "the record" : "the pointer";
    const std::string at = hex(seen.pointer.value_or(thread.variable));
    told.steps.push_back(what + " at " + at + " cannot be read");
    told.findings.push_back({FindingCode::kBadPointer,
                             "the memory of " + what + ", " + at + ", is not there or not resident",
                             {}});
    return told;
  }
  if (!seen.record) {
    told.steps.emplace_back("the pointer is null: the thread has no record now");
    return told;
  }
  const Record& record = *seen.record;
  told.steps.push_back("the pointer leads to a record at " + hex(*seen.pointer) + ": trace " +
                       hex_bytes(record.trace_id) + ", span " + hex_bytes(record.span_id) +
                       ", transaction " + hex_bytes(record.transaction_id));
  if (record.valid == 0) {
    told.steps.emplace_back("its mark is 0: the thread just changes it");
  } else if (record.trace_present != 1) {
    told.steps.emplace_back("it says that there is no trace now");
  }
  const ls_outcome outcome = outcome_of(seen);
  told.steps.push_back("outcome: " + std::string(outcome_name(outcome)) + ", " +
                       std::to_string(labels_of(record, 0).size()) + " labels");
  return told;
}

}  // namespace labelscope
