// The checksum of a record shows whether it is whole:
//
//   checksum | IDs     |
//   ---------+---------+----------------------------------------------------------------
//   0        | both 0  | no context
//   0        | any     | the thread is just writing it: torn (tags are left out of this, because a
//            |         | writer may set one where there is no context)
//   theirs   | any     | a context: span_id, root_span_id, and each tag that is not 0
//   another  | any     | torn, or not written by this format's rules
//
// So a stopped thread's record is never taken for another one. The BPF program judges by the same
// table (labelscope/bpf/thread_context.bpf.h) and sends the 64 bytes of a whole record.
#include "sources/thread_context/thread_context.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/text.h"
#include "customlabels/thread_context.h"
#include "sources/file_inspection.h"
#include "sources/thread_context/rules.h"

namespace labelscope {
namespace {

using Record = thread_context_record_t;

// This is thread_context_checksum() again, because writer-lib's code is not part of a reader.
std::uint64_t checksum_of(const Record& record) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
  const std::uint64_t swapped = record.root_span_id << 32 | record.root_span_id >> 32;
  const std::uint64_t hash = (record.span_id * kMultiplier) ^ (swapped * kMultiplier);
  return hash == 0 ? UINT64_MAX : hash;
}

ls_outcome judge(const Record& record) {
  if (record.checksum == 0) {
    return record.span_id == 0 && record.root_span_id == 0 ? LS_UNLABELLED : LS_UNREADABLE_TORN;
  }
  return record.checksum == checksum_of(record) ? LS_LABELLED : LS_UNREADABLE_TORN;
}

LabelSet labels_of(const Record& record, std::uint8_t publisher) {
  LabelSet labels{{"span_id", hex_digits(record.span_id), publisher},
                  {"root_span_id", hex_digits(record.root_span_id), publisher}};
  for (std::size_t i = 0; i < THREAD_CONTEXT_TAGS; ++i) {
    if (record.tags[i] == 0) continue;
    labels.push_back({"tag" + std::to_string(i), std::to_string(record.tags[i]), publisher});
  }
  return labels;
}

Observation observation_of(const Record& record, std::uint8_t publisher) {
  const ls_outcome outcome = judge(record);
  return {outcome, 0, outcome == LS_LABELLED ? labels_of(record, publisher) : LabelSet{}};
}

constexpr const char* kWriteInOrder =
    "set the checksum to 0, then the fields, then the checksum of the new IDs";

std::string misfit_text(const Record& record) {
  return "the checksum is " + hex(record.checksum) + ", and that of its IDs " +
         hex(checksum_of(record));
}

// Only the IDs are set together; tags may be set one by one.
constexpr std::string_view kIds[] = {"span_id", "root_span_id"};
constexpr UpdateRule kUpdates{.torn = context_v1::kTornUpdate,
                              .what = "a context",
                              .fix = kWriteInOrder,
                              .api = "thread_context_",
                              .by_pointer = false,
                              .hides = true,
                              .together = kIds};

}  // namespace

ThreadContext::ThreadContext()
    : LabelSource({.number = LS_SOURCE_THREAD_CONTEXT,
                   .name = THREAD_CONTEXT_SYMBOL,
                   .variable_symbol = THREAD_CONTEXT_SYMBOL,
                   .rules = context_v1::rules(),
                   .updates = &kUpdates,
                   .id_bytes = sizeof(Record::span_id) + sizeof(Record::root_span_id),
                   .ids = kIds}) {}

bool ThreadContext::is_publisher_name(std::string_view path) const {
  return base_name(path).starts_with("libthreadcontext.so");
}

void ThreadContext::judge(std::string_view, FileInspection& file) const {
  const auto& variable = best_of(file.variable);
  if (!variable) return;
  if (!expect_in_reach(file, THREAD_CONTEXT_SYMBOL)) return conclude(file);
  if (expect(file, context_v1::kThreadLocal, variable->type == STT_TLS,
             THREAD_CONTEXT_SYMBOL " is not thread-local", "declare it __thread", Harm::kUnreadable,
             FindingCode::kNotThreadLocal) &&
      expect(file, context_v1::kSize, variable->size == sizeof(Record),
             THREAD_CONTEXT_SYMBOL " has " + std::to_string(variable->size) + " bytes",
             "define it as a record of 64 bytes (customlabels/thread_context.h)") &&
      file.tls) {
    expect(file, context_v1::kAligned, is_aligned(file, *variable, sizeof(Record)),
           THREAD_CONTEXT_SYMBOL " is at offset " + std::to_string(variable->value) +
               " of a block that is aligned to " + std::to_string(file.tls->alignment),
           "align it to 64 bytes: __attribute__((aligned(64)))", Harm::kSlight);
  }
  conclude(file);
}

RawReading ThreadContext::take(const ThreadView& thread) const {
  RawReading raw;
  raw.bytes.resize(sizeof(Record));
  if (!thread.memory.read(thread.variable, raw.bytes)) return {LS_UNREADABLE_NOT_RESIDENT, 0, {}};
  Record record;
  std::memcpy(&record, raw.bytes.data(), sizeof record);
  raw.outcome = labelscope::judge(record);
  return raw;
}

Observation ThreadContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                  const Meanings&) const {
  Record record;
  if (raw.size() != sizeof record) return {LS_UNREADABLE_MALFORMED, 0, {}};
  std::memcpy(&record, raw.data(), sizeof record);
  Observation seen = observation_of(record, publisher);
  // Only whole records are sent, so any other outcome is malformed.
  if (seen.outcome != LS_LABELLED) seen.outcome = LS_UNREADABLE_MALFORMED;
  return seen;
}

ReadingStory ThreadContext::explain(const ThreadView& thread) const {
  ReadingStory story;
  auto record = read_value<Record>(thread.memory, thread.variable);
  if (!record) {
    story.add_unreadable("the record", thread.variable);
    return story;
  }
  story.steps.push_back("the record has span " + hex(record->span_id) + ", root span " +
                        hex(record->root_span_id) + ", checksum " + hex(record->checksum));
  const Observation seen = observation_of(*record, thread.publisher);
  if (seen.outcome == LS_UNLABELLED) {
    story.steps.emplace_back("all three are 0: the thread has no context now");
  } else if (seen.outcome == LS_UNREADABLE_TORN) {
    const bool writing = record->checksum == 0;
    story.steps.push_back(writing ? "a checksum of 0: the thread is just writing the record"
                                  : misfit_text(*record));
    story.findings.push_back(
        {FindingCode::kTornRecord, "the record is torn: its checksum does not fit its IDs",
         writing ? "look again" : kWriteInOrder, writing ? RuleId::kNone : context_v1::kChecksum});
  }
  for (const Label& label : seen.labels) story.steps.push_back(label.key + "=" + label.value);
  story.add_outcome(seen);
  return story;
}

SetCheck ThreadContext::check(const ThreadView& thread) const {
  SetCheck result;
  auto record = read_value<Record>(thread.memory, thread.variable);
  if (!record) {
    result.set.state = CheckedSet::State::kUnreadable;
    return result;
  }
  result.ranges.push_back({thread.variable, sizeof(Record)});
  const Observation seen = observation_of(*record, 0);
  if (seen.outcome == LS_UNLABELLED) return result;
  result.tested = true;
  if (seen.outcome == LS_LABELLED) {
    result.set = {CheckedSet::State::kSet, seen.labels};
    std::ranges::sort(result.set.labels, {}, &Label::key);
    return result;
  }
  result.set.state = CheckedSet::State::kUnreadable;
  // A checksum of 0 is no mistake, because a thread may be stopped while it writes.
  if (record->checksum != 0) {
    result.diagnostics.push_back(
        {{FindingCode::kRule, misfit_text(*record), kWriteInOrder, context_v1::kChecksum}});
  }
  return result;
}

std::vector<Address> ThreadContext::likely_words(const MemorySource&, Address variable) const {
  return {variable + offsetof(Record, checksum)};
}

}  // namespace labelscope
