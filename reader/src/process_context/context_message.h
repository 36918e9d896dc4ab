// This parses the payload of a process context: the message ProcessContext (OTEP 4719, and
// opentelemetry/proto/processcontext/v1development of opentelemetry-proto).
//
//   ProcessContext   1 Resource   2 KeyValue*
//   Resource         1 KeyValue*
//   KeyValue         1 key        2 AnyValue
//   AnyValue         1 string  2 bool  3 int  4 double  5 ArrayValue (1 AnyValue*)  7 bytes
//
// The attributes of threads are described by two keys among these: threadlocal.schema_version and
// threadlocal.attribute_key_map. Others that begin with threadlocal. are numbers. They belong into
// field 2 of ProcessContext; some writers have put them into the resource. If two writers share one
// context, the second appends to what the first has written: so the last of equal keys counts, and
// field 2 counts more than the resource.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/process_facts.h"

namespace labelscope {

struct ContextMessage {
  Attributes attributes;              // by key; numbers and truth values as text, without lists
  std::optional<std::string> schema;  // threadlocal.schema_version
  std::optional<std::vector<std::string>> key_map;
  Numbers numbers;           // the other numbers among the keys that begin with threadlocal.
  std::size_t left_out = 0;  // number of attributes and keys that are too long
};

// Returns nothing if the bytes are no such message, or one of more than kMostAttributes.
std::optional<ContextMessage> parse_context_message(std::span<const std::byte> payload);

inline constexpr std::size_t kMostAttributes = 4096;
inline constexpr std::size_t kLongestText = 4096;  // length of a key or a value
inline constexpr std::size_t kMostKeys = 256;      // an index is one byte

// These are the rules of the process context by name. Their texts are with those of the records
// that need it (sources/otel_context/rules.cc), because a check judges both together.
namespace otel {

inline constexpr RuleId kKeysAppended{222};
inline constexpr RuleId kContextHeader{231};
inline constexpr RuleId kContextVersion{232};
inline constexpr RuleId kContextPayload{233};
inline constexpr RuleId kContextTime{234};
inline constexpr RuleId kContextSchema{235};  // warning: names of keys of unknown records
inline constexpr RuleId kContextTexts{236};   // note: readers leave some of it out

}  // namespace otel

}  // namespace labelscope
