// The walk is three reads: the pointer, the record's head, its attributes. A thread that stands
// still shows one moment: the writer sets `valid` to 0, or the pointer to null, while it changes a
// record. What is there between, both walks call no record, and not a torn one: a thread without a
// span looks the same.
#include "sources/otel_context/otel_context.h"

#include <elf.h>

#include <optional>
#include <utility>

#include "sources/file_facts.h"
#include "sources/otel_context/record.h"

namespace labelscope {
namespace {

constexpr const char* kSymbol = "otel_thread_ctx_v1";

// Nothing: the variable cannot be read.
std::optional<otel::RecordReading> walk(const MemorySource& memory, Address variable) {
  const auto pointer = read_value<Address>(memory, variable);
  if (!pointer) return std::nullopt;
  return otel::read_record(memory, memory.untagged(*pointer));
}

}  // namespace

OtelContext::OtelContext() : LabelSource({LS_SOURCE_OTEL_CONTEXT, kSymbol, nullptr, kSymbol, {}}) {}

// Its writers have many names, and all export it.
bool OtelContext::is_publisher_name(std::string_view) const { return false; }

void OtelContext::judge(std::string_view, FileInspection& file) const {
  const auto& variable = best_of(file.variable);
  if (!variable) return;
  const auto find = [&](FindingCode code, std::string text, const char* fix, Harm harm) {
    file.findings.push_back({code, std::move(text), fix, RuleId::kNone, harm});
  };
  if (!expect_in_reach(file, kSymbol)) return conclude(file);
  if (variable->type != STT_TLS) {
    find(FindingCode::kNotThreadLocal, std::string(kSymbol) + " is not thread-local",
         "declare it __thread", Harm::kUnreadable);
  } else if (variable->size != sizeof(Address)) {
    find(FindingCode::kVariableSize,
         std::string(kSymbol) + " has " + std::to_string(variable->size) + " bytes",
         "define it as a pointer of 8 bytes", Harm::kUnreadable);
  }
  conclude(file);
  if (file.findings.empty()) file.verdict = Verdict::kCompliant;  // it has no numbered rules
}

RawReading OtelContext::take(const ThreadView& thread) const {
  auto seen = walk(thread.memory, thread.variable);
  return seen ? std::move(seen->raw) : RawReading{LS_UNREADABLE_NOT_RESIDENT, 0, {}};
}

Observation OtelContext::read(const ThreadView& thread) const {
  const RawReading raw = take(thread);
  if (raw.outcome != LS_LABELLED) return {raw.outcome, raw.flags, {}};
  Observation seen = decode(raw.bytes, thread.publisher, thread.facts());
  seen.flags |= raw.flags;
  return seen;
}

Observation OtelContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                const ProcessFacts* facts) const {
  return otel::decode(raw, publisher, facts);
}

ReadingStory OtelContext::explain(const ThreadView& thread) const {
  ReadingStory told;
  const auto seen = walk(thread.memory, thread.variable);
  if (!seen) {
    otel::tell_unreadable("the pointer", thread.variable, told);
  } else if (otel::tell_record(*seen, thread.facts(), told)) {
    const Observation labels = read(thread);
    told.steps.push_back("outcome: " + std::string(outcome_name(labels.outcome)) + ", " +
                         std::to_string(labels.labels.size()) + " labels");
  }
  return told;
}

SetCheck OtelContext::check(const ThreadView& thread) const {
  SetCheck result;
  const auto seen = walk(thread.memory, thread.variable);
  if (!seen) {
    result.set.state = CheckedSet::State::kUnreadable;
    return result;
  }
  result.ranges.push_back({thread.variable, sizeof(Address)});
  if (seen->record != 0) result.ranges.push_back({seen->record, sizeof(otel::Head)});
  if (is_unreadable(seen->raw.outcome)) result.set.state = CheckedSet::State::kUnreadable;
  return result;
}

}  // namespace labelscope
