// These are the rules of the thread context by name; rules.cc has their texts.
#pragma once

#include <span>

#include "findings/check_rule.h"

namespace labelscope::context_v1 {

// File
inline constexpr RuleId kThreadLocal{101};
inline constexpr RuleId kSize{102};
inline constexpr RuleId kAligned{103};  // warning: it is in more than one cache line
// Record
inline constexpr RuleId kChecksum{110};  // neither 0 nor that of the IDs
// Updates
inline constexpr RuleId kTornUpdate{
    150};  // neither the context before the update nor the one after

std::span<const Rule> rules();

}  // namespace labelscope::context_v1
