// This is what the weights of samples measure: a kind of time, or what a pprof file of another tool
// counts.
//
// A profile has one value type, or one for each kind of time that its threads were sampled in; then
// they have one unit, and together they are all the time of these threads. A row is of one of them
// (SampleRow::value). Formats have no kinds of their own: they loop over Profile::values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sampling/sample_kind.h"

namespace labelscope::cli {

struct ValueType {
  std::string name;  // "cpu"
  std::string unit;  // "nanoseconds", "bytes", "count", ...
  bool is_time() const { return unit == "nanoseconds"; }
  bool operator==(const ValueType&) const = default;
};

struct TimeKind {
  ls_sample_kind kind;
  std::string_view name;     // its name in files, and the value of the key "state"
  std::string_view words;    // its name in sentences
  std::string_view account;  // what follows the name: the account that has all of it
};
// Rows are in the order of enum ls_sample_kind. Formats, readers and sentences use only this table.
inline constexpr TimeKind kTimeKinds[] = {
    {LS_ON_CPU, "cpu", "CPU time", " by the kernel's account"},
    {LS_RUNNABLE, "runnable", "time waiting for a processor", ""},
    {LS_WAITING, "waiting", "time waiting", ""},
    {LS_WHOLE_TIME, "wall", "threads' time", ""},
    {LS_UNINTERRUPTIBLE, "blocked", "time waiting uninterruptibly", ""},
};
// A profile can have so many value types.
inline constexpr std::size_t kMostValueTypes = LS_SAMPLE_KIND_COUNT;
// The default kinds of a recording.
inline constexpr ls_sample_kind kOnCpuOnly[] = {LS_ON_CPU};

constexpr bool is_wait(ls_sample_kind kind) {
  return kind == LS_WAITING || kind == LS_UNINTERRUPTIBLE || kind == LS_RUNNABLE;
}
ValueType time_value(ls_sample_kind kind);
// Returns null if it is none of these times.
const TimeKind* time_kind(const ValueType& value);
bool is_wait(const ValueType& value);

// Returns the text that recordings have: "cpu" for a kind of time, "inuse_space/bytes" for anything
// else.
std::string text_of(const ValueType& value);
std::optional<ValueType> parse_value_type(std::string_view text);

}  // namespace labelscope::cli
