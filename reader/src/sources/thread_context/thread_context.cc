// A record says by its checksum whether it is whole:
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

#include "customlabels/thread_context.h"
#include "labelscope/text.h"
#include "sources/file_facts.h"

namespace labelscope {
namespace {

using Record = thread_context_record_t;

// As thread_context_checksum(): writer-lib's code is not part of a reader.
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

}  // namespace

std::string_view ThreadContext::name() const { return THREAD_CONTEXT_SYMBOL; }
const char* ThreadContext::variable_symbol() const { return THREAD_CONTEXT_SYMBOL; }

bool ThreadContext::is_publisher_name(std::string_view path) const {
  return base_name(path).starts_with("libthreadcontext.so");
}

void ThreadContext::judge(std::string_view, FileInspection& file) const {
  const auto& variable = best_of(file.variable);
  if (!variable) return;
  auto find = [&](FindingCode code, std::string text, const char* fix, Harm harm) {
    file.findings.push_back({code, std::move(text), fix, RuleId::kNone, harm});
  };
  if (!file.foreign_platform.empty()) {
    find(FindingCode::kUnreadableFile, "it is for " + file.foreign_platform,
         "look at builds for x86-64 or aarch64 with Linux", Harm::kUnreadable);
  } else if (variable->type != STT_TLS) {
    find(FindingCode::kNotThreadLocal, THREAD_CONTEXT_SYMBOL " is not thread-local",
         "declare it __thread", Harm::kUnreadable);
  } else if (variable->size != sizeof(Record)) {
    find(FindingCode::kContextSize,
         THREAD_CONTEXT_SYMBOL " has " + std::to_string(variable->size) + " bytes",
         "define it as a record of 64 bytes (customlabels/thread_context.h)", Harm::kUnreadable);
  } else if (!is_exported(file.variable)) {
    find(FindingCode::kNotExported, THREAD_CONTEXT_SYMBOL " is in .symtab only",
         "link with -Wl,--export-dynamic-symbol=" THREAD_CONTEXT_SYMBOL,
         reads_symtab(file) ? Harm::kOverlooked : Harm::kUnreadable);
  }
  file.verdict = file.findings.empty()                             ? Verdict::kCompliant
                 : file.findings.front().harm == Harm::kUnreadable ? Verdict::kBroken
                                                                   : Verdict::kReadable;
}

Observation ThreadContext::read(const ThreadView& thread) const {
  auto record = read_value<Record>(thread.memory, thread.variable);
  if (!record) return {LS_UNREADABLE_NOT_RESIDENT, 0, {}};
  return observation_of(*record, thread.publisher);
}

LabelSet ThreadContext::decode(std::span<const std::byte> raw, std::uint8_t publisher) const {
  Record record;
  if (raw.size() != sizeof record) return {};
  std::memcpy(&record, raw.data(), sizeof record);
  return observation_of(record, publisher).labels;
}

ReadingStory ThreadContext::explain(const ThreadView& thread) const {
  ReadingStory told;
  auto record = read_value<Record>(thread.memory, thread.variable);
  if (!record) {
    told.steps.push_back("the record at " + hex(thread.variable) + " cannot be read");
    told.findings.push_back(
        {FindingCode::kBadPointer,
         "the memory of the record, " + hex(thread.variable) + ", is not there or not resident",
         {}});
    return told;
  }
  told.steps.push_back("the record has span " + hex(record->span_id) + ", root span " +
                       hex(record->root_span_id) + ", checksum " + hex(record->checksum));
  const Observation seen = observation_of(*record, thread.publisher);
  if (seen.outcome == LS_UNLABELLED) {
    told.steps.emplace_back("all three are 0: the thread has no context now");
  } else if (seen.outcome == LS_UNREADABLE_TORN) {
    told.steps.push_back(record->checksum == 0
                             ? "a checksum of 0: the thread is just writing the record"
                             : "the checksum of these IDs would be " + hex(checksum_of(*record)));
    told.findings.push_back(
        {FindingCode::kTornRecord, "the record is torn: its checksum does not fit its IDs",
         "look again: a writer must set the checksum to 0, then the fields, then "
         "the checksum of the new IDs"});
  }
  for (const Label& label : seen.labels) told.steps.push_back(label.key + "=" + label.value);
  told.steps.push_back("outcome: " + std::string(outcome_name(seen.outcome)) + ", " +
                       std::to_string(seen.labels.size()) + " labels");
  return told;
}

}  // namespace labelscope
