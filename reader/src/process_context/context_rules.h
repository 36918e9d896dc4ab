// These are the rules of the process context by name. Their texts are with those of the records
// that need it (sources/otel_context/rules.cc), because a check judges both together.
#pragma once

#include "labelscope/finding.h"

namespace labelscope::otel {

inline constexpr RuleId kContextHeader{231};
inline constexpr RuleId kContextVersion{232};
inline constexpr RuleId kContextPayload{233};
inline constexpr RuleId kContextTime{234};
inline constexpr RuleId kContextSchema{235};  // warning: names of keys of unknown records
inline constexpr RuleId kContextTexts{236};   // note: readers leave some of it out

}  // namespace labelscope::otel
