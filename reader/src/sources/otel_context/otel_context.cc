// The walk is three reads: the pointer, the record's head, and its attributes. A stopped thread
// shows one moment: the writer sets `valid` to 0, or the pointer to null, while it changes a
// record. For both walks that moment has no record, and not a torn one, because a thread without a
// span looks the same.
#include "sources/otel_context/otel_context.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "sources/file_inspection.h"
#include "sources/otel_context/record.h"
#include "sources/otel_context/rules.h"

namespace labelscope {
namespace {

constexpr const char* kSymbol = "otel_thread_ctx_v1";

// Returns nothing if the variable cannot be read.
std::optional<otel::RecordReading> walk(const MemorySource& memory, Address variable) {
  const auto pointer = read_value<Address>(memory, variable);
  if (!pointer) return std::nullopt;
  return otel::read_record(memory, memory.untagged(*pointer));
}

constexpr UpdateRule kUpdates{
    .torn = otel::kTornUpdate,
    .what = "a record",
    .fix =
        "build the record where no reader sees it and then store its address; or let valid be 0 "
        "while it changes",
    .api = "otel_context_",
    .by_pointer = true,
    .hides = true,
    .together = otel::kIds};

// Judges how the code of a library reaches the variable.
void judge_access(FileInspection& file) {
  const std::string how = access_in_words(file);
  const bool described = std::ranges::find(file.access, FileAccess::kTlsDesc) != file.access.end();
  const bool known = std::ranges::any_of(
      file.access, [](FileAccess access) { return access != FileAccess::kLocalDynamic; });
  // Another library's code may use the variable.
  if (file.access.empty()) return;
  if (!expect(file, otel::kAccessModel, known,
              "its code reaches the variable by " + how +
                  " access alone: the relocation is for the whole module",
              "compile with -fPIC -ftls-model=global-dynamic for TLS descriptors, or link without "
              "-Bsymbolic",
              Harm::kOverlooked)) {
    return;
  }
  expect(file, otel::kDescriptor, described,
         "its code reaches the variable by " + how + " access, not by a TLS descriptor",
         file.machine == Machine::kX86_64
             ? "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2"
             : "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=desc",
         Harm::kSlight);
}

}  // namespace

OtelContext::OtelContext()
    : LabelSource({.number = LS_SOURCE_OTEL_CONTEXT,
                   .name = kSymbol,
                   .variable_symbol = kSymbol,
                   .rules = otel::rules(),
                   .updates = &kUpdates,
                   .needs_facts = true,
                   .id_bytes = otel::kIdBytes,
                   .ids = otel::kIds}) {}

// Its writers have many names, and all export the variable.
bool OtelContext::is_publisher_name(std::string_view) const { return false; }

void OtelContext::judge(std::string_view, FileInspection& file) const {
  const auto& variable = best_of(file.variable);
  if (!variable) return;
  if (!expect_in_reach(file, kSymbol, otel::kExported)) return conclude(file);
  if (expect(file, otel::kThreadLocal, variable->type == STT_TLS,
             std::string(kSymbol) + " is not thread-local", "declare it __thread",
             Harm::kUnreadable, FindingCode::kNotThreadLocal) &&
      expect(file, otel::kSize, variable->size == sizeof(Address),
             std::string(kSymbol) + " has " + std::to_string(variable->size) + " bytes",
             "define it as a pointer of 8 bytes", Harm::kUnreadable, FindingCode::kVariableSize)) {
    if (file.tls) {
      expect(file, otel::kAligned, is_aligned(file, *variable, sizeof(Address)),
             std::string(kSymbol) + " is at offset " + std::to_string(variable->value) +
                 " of a block that is aligned to " + std::to_string(file.tls->alignment),
             "align it to 8 bytes", Harm::kSlight);
    }
    // If the variable is not exported, no relocation can name it. That is not a second mistake.
    if (!file.executable && is_exported(file.variable) && file.relocations_read) {
      judge_access(file);
    }
  }
  conclude(file);
}

RawReading OtelContext::take(const ThreadView& thread) const {
  auto seen = walk(thread.memory, thread.variable);
  return seen ? std::move(seen->raw) : RawReading{LS_UNREADABLE_NOT_RESIDENT, 0, {}};
}

Observation OtelContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                const Meanings& by) const {
  return otel::decode(raw, publisher, by.facts);
}

ReadingStory OtelContext::explain(const ThreadView& thread) const {
  ReadingStory story;
  const auto seen = walk(thread.memory, thread.variable);
  if (!seen) {
    story.add_unreadable("the pointer", thread.variable);
  } else if (otel::explain_record(*seen, thread.facts(), story)) {
    story.add_outcome(read(thread));
  }
  return story;
}

SetCheck OtelContext::check(const ThreadView& thread) const { return otel::check_record(thread); }

// These are the mark, and the word behind it: a writer that fills a record in place stores to one
// of them.
std::vector<Address> OtelContext::likely_words(const MemorySource& memory, Address variable) const {
  const auto pointer = read_value<Address>(memory, variable);
  if (!pointer || *pointer == 0) return {};
  const Address record = memory.untagged(*pointer);
  return {record + offsetof(otel::Head, valid), record + offsetof(otel::Head, span_id), record};
}

}  // namespace labelscope
