// The walk is three reads: the pointer, the record's head, its attributes. A thread that stands
// still shows one moment: the writer sets `valid` to 0, or the pointer to null, while it changes a
// record. What is there between, both walks call no record, and not a torn one: a thread without a
// span looks the same.
#include "sources/otel_context/otel_context.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "sources/file_facts.h"
#include "sources/otel_context/record.h"

namespace labelscope {
namespace {

constexpr const char* kSymbol = "otel_thread_ctx_v1";

// What the walk saw; where it ended, `problem` says why.
struct Walk {
  Address record = 0;
  otel::Head head{};
  RawReading raw;
  enum class End { kVariable, kNull, kHead, kNotValid, kAttributes, kWhole } end = End::kVariable;
};

Walk walk(const MemorySource& memory, Address variable) {
  using End = Walk::End;
  Walk seen;
  const auto stop = [&](End end, ls_outcome outcome) {
    seen.end = end;
    seen.raw.outcome = outcome;
    return seen;
  };
  const auto pointer = read_value<Address>(memory, variable);
  if (!pointer) return stop(End::kVariable, LS_UNREADABLE_NOT_RESIDENT);
  if (*pointer == 0) return stop(End::kNull, LS_UNLABELLED);
  seen.record = memory.untagged(*pointer);
  const auto head = read_value<otel::Head>(memory, seen.record);
  if (!head) return stop(End::kHead, LS_UNREADABLE_NOT_RESIDENT);
  seen.head = *head;
  if (head->valid != otel::kValid) return stop(End::kNotValid, LS_UNLABELLED);

  const std::size_t size = std::min<std::size_t>(head->attribute_bytes, otel::kMostAttributeBytes);
  if (size < head->attribute_bytes) seen.raw.flags |= LS_TRUNCATED_BYTES;
  seen.raw.bytes.resize(sizeof *head + size);
  std::memcpy(seen.raw.bytes.data(), &*head, sizeof *head);
  const auto attributes = std::span(seen.raw.bytes).subspan(sizeof *head);
  if (size != 0 && !memory.read(seen.record + sizeof *head, attributes)) {
    return stop(End::kAttributes, LS_UNREADABLE_NOT_RESIDENT);
  }
  const otel::Head none{{}, {}, otel::kValid, head->trace_flags, 0};
  const bool empty = std::memcmp(&none, &*head, sizeof none) == 0;
  return stop(End::kWhole, empty ? LS_UNLABELLED : LS_LABELLED);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The attributes one by one, those that become no label included.
void tell_attributes(const Walk& seen, const ProcessFacts* facts, ReadingStory& told) {
  otel::Attribute attribute;
  otel::AttributeReader reader(otel::attributes_of(seen.head, seen.raw.bytes));
  while (reader.next(attribute)) {
    const std::string number = "attribute with key " + std::to_string(attribute.key);
    const bool named = facts != nullptr && attribute.key < facts->keys.size() &&
                       !facts->keys[attribute.key].empty();
    told.steps.push_back(number + (named ? ", " + facts->keys[attribute.key] : std::string()) +
                         "=" + text_of(attribute.value));
    if (named) continue;
    told.findings.push_back(
        facts == nullptr || facts->keys.empty()
            ? Finding{FindingCode::kKeyMapMissing,
                      "an " + number + " has no name: the process publishes no names of keys",
                      "publish a process context with threadlocal.attribute_key_map", RuleId::kNone,
                      Harm::kSlight}
            : Finding{FindingCode::kUnknownKey,
                      "an " + number + " has no name: the process names the keys below " +
                          std::to_string(facts->keys.size()),
                      "publish the new names before a record uses them", RuleId::kNone,
                      Harm::kSlight});
  }
  if (reader.left() != 0 && (seen.raw.flags & LS_TRUNCATED_BYTES) == 0) {
    told.findings.push_back({FindingCode::kIncompleteAttribute,
                             "the last " + std::to_string(reader.left()) +
                                 " bytes of the attributes are no whole attribute",
                             "let the size of the attributes be what is written of them",
                             RuleId::kNone, Harm::kSlight});
  }
}

void tell_not_valid(const otel::Head& head, ReadingStory& told) {
  if (head.valid == 0) {
    told.steps.emplace_back(
        "its mark is 0: the thread has no span now, or just changes the record");
    return;
  }
  told.steps.push_back("its mark is " + std::to_string(head.valid) + ", so it is no record");
  told.findings.push_back({FindingCode::kRecordInvalid,
                           "the mark of the record is " + std::to_string(head.valid) +
                               ", neither that of a record (1) nor of none (0)",
                           "let the variable point to a record of OTEP 4947"});
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
  return walk(thread.memory, thread.variable).raw;
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
  using End = Walk::End;
  ReadingStory told;
  const Walk seen = walk(thread.memory, thread.variable);
  const auto unreadable = [&](const std::string& what, Address address) {
    told.steps.push_back(what + " at " + hex(address) + " cannot be read");
    told.findings.push_back(
        {FindingCode::kBadPointer,
         "the memory of " + what + ", " + hex(address) + ", is not there or not resident",
         {}});
  };
  if (seen.end == End::kVariable) {
    unreadable("the pointer", thread.variable);
    return told;
  }
  if (seen.end == End::kNull) {
    told.steps.emplace_back("the pointer is null: the thread has no record now");
    return told;
  }
  told.steps.push_back("the pointer leads to a record at " + hex(seen.record));
  if (seen.end == End::kHead) {
    unreadable("the record", seen.record);
    return told;
  }
  told.steps.push_back("the record has trace " + hex_bytes(seen.head.trace_id) + ", span " +
                       hex_bytes(seen.head.span_id) + ", flags " + hex(seen.head.trace_flags) +
                       ", " + std::to_string(seen.head.attribute_bytes) + " bytes of attributes");
  if (seen.end == End::kNotValid) {
    tell_not_valid(seen.head, told);
    return told;
  }
  if (seen.end == End::kAttributes) {
    unreadable("the attributes", seen.record + sizeof seen.head);
    return told;
  }
  if ((seen.raw.flags & LS_TRUNCATED_BYTES) != 0) {
    told.steps.push_back("of its attributes, " + std::to_string(otel::kMostAttributeBytes) +
                         " bytes are read");
  }
  tell_attributes(seen, thread.facts(), told);
  const Observation labels = read(thread);
  told.steps.push_back("outcome: " + std::string(outcome_name(labels.outcome)) + ", " +
                       std::to_string(labels.labels.size()) + " labels");
  return told;
}

SetCheck OtelContext::check(const MemorySource& memory, Address variable) const {
  SetCheck result;
  const Walk seen = walk(memory, variable);
  if (seen.end == Walk::End::kVariable) {
    result.set.state = CheckedSet::State::kUnreadable;
    return result;
  }
  result.ranges.push_back({variable, sizeof(Address)});
  if (seen.record != 0) result.ranges.push_back({seen.record, sizeof(otel::Head)});
  if (is_unreadable(seen.raw.outcome)) result.set.state = CheckedSet::State::kUnreadable;
  return result;
}

}  // namespace labelscope
