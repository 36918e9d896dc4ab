// What a thread waits for, as the value of the label `wait`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "labelscope/label.h"
#include "sampling/sample_kind.h"

namespace labelscope::cli {

// Each sample of a wait has this label, unless its thread has set one with the same key.
inline constexpr std::string_view kWaitKey = "wait";

// The name of the system call ("futex"); or what else it is if the thread is in none (LS_CALL_...):
// "stopped", "frozen", "throttled", "page fault" or "preempted". `kind` must be a wait.
std::string wait_reason(ls_sample_kind kind, std::int32_t system_call);

// Adds the label `wait`, unless there is one.
void add_wait_reason(LabelSet& labels, ls_sample_kind kind, std::int32_t system_call,
                     std::uint8_t publisher);

// Returns the value of the label `wait`; nothing if there is none.
std::string_view reason_of(const LabelSet& labels);

}  // namespace labelscope::cli
