// This finds and reads a process context (OTEP 4719).
//
// The context is found by the name of its mapping. Writers make a memfd and map it privately, then
// name the memory by prctl(PR_SET_VMA_ANON_NAME), or take anonymous memory at once:
//
//   /memfd:OTEL_CTX (deleted)    the kernel does not name anonymous memory
//   [anon_shmem:OTEL_CTX]        the kernel does, and the memory is of a memfd
//   [anon:OTEL_CTX]              the kernel does
//   (no name)                    otherwise, and in core files
//
// It is read while the process runs. The writer sets `published at` to 0, then pointer and size,
// then `published at` to a new time; it frees the old payload at once. So a payload counts only if
// the time before and after it is the same and not 0. If it is not, or if the payload is gone and
// the time has changed, this reads again.
#include "labelscope/process_facts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "process/named_mappings.h"
#include "process_context/context_message.h"

namespace labelscope {
namespace {

constexpr std::string_view kNames[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
                                       "/memfd:OTEL_CTX"};
constexpr std::array<char, 8> kSignature{'O', 'T', 'E', 'L', '_', 'C', 'T', 'X'};
constexpr std::array<char, 8> kNoSignature{};
constexpr std::uint32_t kVersion = 2;
// This is the largest payload that a known writer makes.
constexpr std::uint32_t kLargestPayload = 1 << 20;
constexpr int kTries = 5;
// A writer that was interrupted between its stores needs a processor to go on.
constexpr std::chrono::microseconds kPause{500};
// More would cost time: one that is never published is looked at again and again.
constexpr std::size_t kMostContexts = 8;
// A server forks workers; these seldom fork again.
constexpr int kMostParents = 4;

constexpr std::string_view kSchemas[] = {"tlsdesc_v1_dev", "tls_v1", "nodejs_v1_dev", "nodejs_v1",
                                         "go_pprof_labels_v1"};

struct Header {
  std::array<char, 8> signature;
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t published_ns;
  std::uint64_t payload;
};
static_assert(sizeof(Header) == 32);

bool has_context_name(const Mapping& mapping) {
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return mapping.path.starts_with(name); });
}

void find(ProcessFacts& facts, FindingCode code, RuleId rule, const std::string& text,
          std::string fix = {}) {
  facts.findings.push_back({code, "the process context at " + hex(facts.header) + " " + text,
                            std::move(fix), rule, Harm::kSlight});
}

void adopt(ContextMessage said, ProcessFacts& facts) {
  facts.attributes = std::move(said.attributes);
  if (said.left_out != 0) {
    find(facts, FindingCode::kContextSize, otel::kContextTexts,
         "has " + std::to_string(said.left_out) +
             " keys or values that are left out: they are no "
             "texts, or longer than " +
             std::to_string(kLongestText) + " bytes, or too many");
  }
  facts.numbers = std::move(said.numbers);
  facts.schema = said.schema.value_or(std::string());
  if (!said.key_map) return;
  // The numbers of an unknown kind of records have an unknown meaning.
  if (said.schema && std::ranges::find(kSchemas, *said.schema) == std::end(kSchemas)) {
    find(facts, FindingCode::kUnknownSchema, otel::kContextSchema,
         "says that its records are of the schema '" + *said.schema +
             "', which is not known, so their keys have no names");
    return;
  }
  facts.keys = *std::move(said.key_map);
}

// Tries once. Returns false if the context was being replaced.
bool read_once(const MemorySource& memory, const Header& header, ProcessFacts& facts) {
  facts.published_ns = header.published_ns;
  if (header.published_ns == 0) return false;
  if (header.size > kLargestPayload) {
    find(facts, FindingCode::kContextSize, otel::kContextPayload,
         "claims a payload of " + std::to_string(header.size) + " bytes; at most " +
             std::to_string(kLargestPayload) + " are read");
    return true;
  }
  std::vector<std::byte> payload(header.size);
  const bool read = payload.empty() || memory.read(memory.untagged(header.payload), payload);
  if (has_changed(facts, memory)) return false;
  if (!read) {
    find(facts, FindingCode::kBadPointer, otel::kContextPayload,
         "leads to a payload at " + hex(header.payload) + " that cannot be read");
  } else if (auto said = parse_context_message(payload)) {
    adopt(*std::move(said), facts);
  } else {
    find(facts, FindingCode::kContextMalformed, otel::kContextPayload,
         "has a payload that is no message of its kind, or one with too many attributes");
  }
  return true;
}

// Returns null if there is no context. `named` means that the mapping has the name of one.
std::shared_ptr<const ProcessFacts> read_at(const MemorySource& memory, Address start, bool named) {
  auto facts = std::make_shared<ProcessFacts>();
  facts->header = start;
  for (int i = 0; i < kTries; ++i) {
    const auto header = read_value<Header>(memory, start);
    // A writer stores the signature last, and the mapping has its name before that.
    const bool begun = named && header && header->signature == kNoSignature && i + 1 < kTries;
    if (begun) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (!header || header->signature != kSignature) {
      if (!named) return nullptr;
      find(*facts, FindingCode::kContextMalformed, otel::kContextHeader,
           header ? "does not begin with OTEL_CTX" : "cannot be read");
      return facts;
    }
    if (header->version != kVersion) {
      facts->published_ns = header->published_ns;
      find(*facts, FindingCode::kContextVersion, otel::kContextVersion,
           "has version " + std::to_string(header->version) + ", and only " +
               std::to_string(kVersion) + " is known");
      return facts;
    }
    if (read_once(memory, *header, *facts)) return facts;
    std::this_thread::sleep_for(kPause);
  }
  facts->published_ns = 0;
  find(*facts, FindingCode::kContextChanging, otel::kContextTime, "was being replaced at each look",
       "look again");
  return facts;
}

// A process has one context. Where a library has made another one, or has left one behind that it
// never published, that which can be read and was published last counts.
bool counts_more(const ProcessFacts& facts, const ProcessFacts& other) {
  const auto rank = [](const ProcessFacts& each) {
    const bool refused = std::ranges::any_of(each.findings, [](const Finding& finding) {
      return finding.rule == otel::kContextHeader || finding.rule == otel::kContextVersion ||
             finding.rule == otel::kContextPayload;
    });
    return std::pair(!refused && each.published_ns != 0, each.published_ns);
  };
  return rank(facts) > rank(other);
}

std::shared_ptr<const ProcessFacts> read_own(const Target& target,
                                             const std::vector<Mapping>& mappings, bool wanted) {
  const MemorySource& memory = target.memory();
  std::shared_ptr<const ProcessFacts> best;
  std::size_t contexts = 0;
  for (const Mapping& mapping : mappings) {
    if (!has_context_name(mapping)) continue;
    if (++contexts > kMostContexts) break;
    auto facts = read_at(memory, mapping.start, /*named=*/true);
    if (best == nullptr || counts_more(*facts, *best)) best = std::move(facts);
  }
  if (best || !wanted) return best;
  std::size_t looked_at = 0;
  for (const Mapping& mapping : mappings) {
    if (!mapping.path.empty() || !mapping.readable || mapping.executable) continue;
    if (++looked_at > kMostUnnamed) break;
    if (auto facts = read_at(memory, mapping.start, /*named=*/false)) return facts;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const ProcessFacts> read_process_facts(const Target& target,
                                                       const std::vector<Mapping>& mappings,
                                                       bool wanted) {
  auto facts = read_own(target, mappings, wanted);
  if (facts || !wanted) return facts;
  // A forked child has the records of its parent, but not its process context (MADV_DONTFORK).
  auto parent = target.forked_from();
  for (int i = 0; parent && i < kMostParents; ++i, parent = parent->forked_from()) {
    auto of_parent = parent->mappings();
    if (!of_parent) break;
    facts = read_own(*parent, *of_parent, /*wanted=*/false);
    if (!facts) continue;
    auto inherited = std::make_shared<ProcessFacts>(*facts);
    inherited->of_parent = true;
    return inherited;
  }
  return nullptr;
}

std::shared_ptr<const ProcessFacts> with_history(const ProcessFacts* before,
                                                 std::shared_ptr<const ProcessFacts> now) {
  const auto is_own = [](const ProcessFacts& facts) {
    return facts.has_context() && !facts.of_parent && facts.published_ns != 0;
  };
  if (before == nullptr || now == nullptr || !is_own(*before) || !is_own(*now)) return now;
  auto both = std::make_shared<ProcessFacts>(*now);
  const auto known = std::ranges::find(before->findings, otel::kKeysAppended, &Finding::rule);
  if (known != before->findings.end()) {
    both->findings.push_back(*known);
    return both;
  }
  // Without names nothing contradicts those from before: the context has another finding then.
  const auto& names = before->keys;
  const auto differs = std::ranges::mismatch(names, now->keys).in1;
  if (now->keys.empty() || differs == names.end()) return now;
  const auto index = static_cast<std::size_t>(differs - names.begin());
  const std::string name =
      index < now->keys.size() ? "is '" + now->keys[index] + "' now" : "has no name any more";
  find(*both, FindingCode::kRule, otel::kKeysAppended,
       "has another key map than before: key " + std::to_string(index) + " was '" + *differs +
           "', and " + name,
       "keep the names in their order, and append new ones");
  return both;
}

bool has_changed(const ProcessFacts& facts, const MemorySource& memory) {
  if (facts.of_parent || !facts.has_context()) return false;
  const auto now = read_value<std::uint64_t>(memory, facts.header + offsetof(Header, published_ns));
  return !now || *now != facts.published_ns;
}

}  // namespace labelscope
