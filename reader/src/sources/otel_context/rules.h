// These are the rules of OpenTelemetry's thread context by name; rules.cc has their texts.
#pragma once

#include <span>

#include "findings/check_rule.h"
#include "process_context/context_message.h"

namespace labelscope::otel {

// File
inline constexpr RuleId kExported{201};
inline constexpr RuleId kThreadLocal{202};
inline constexpr RuleId kSize{203};
inline constexpr RuleId kAligned{204};      // warning: one store cannot publish it
inline constexpr RuleId kAccessModel{205};  // local dynamic, or none
inline constexpr RuleId kDescriptor{206};   // warning: it is not the recommended one
// Record
inline constexpr RuleId kRecordReadable{210};
inline constexpr RuleId kRecordAligned{211};
inline constexpr RuleId kValidMark{212};  // warning: neither 0 nor 1
inline constexpr RuleId kIdsTogether{213};
inline constexpr RuleId kFlagsWithIds{214};  // warning: there are flags without a span
inline constexpr RuleId kAttributesReadable{215};
inline constexpr RuleId kAttributesWhole{216};
inline constexpr RuleId kAttributesText{217};  // warning: it is not UTF-8
inline constexpr RuleId kRecordSize{218};      // note: it is larger than is recommended
// Names of keys
inline constexpr RuleId kKeyNamed{220};
inline constexpr RuleId kKeysPublished{221};
// 222: the names of the process context before (process_context/context_message.h)
// 231 to 236: the process context (process_context/context_message.h)
// Updates
inline constexpr RuleId kTornUpdate{250};

std::span<const Rule> rules();

}  // namespace labelscope::otel
