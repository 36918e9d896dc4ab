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
#include "sampling/sample_mode.h"

namespace labelscope::cli {

inline constexpr std::string_view kNanoseconds = "nanoseconds";

struct ValueType {
  std::string name;  // "cpu"
  std::string unit;  // "nanoseconds", "bytes", "count", ...
  bool is_time() const { return unit == kNanoseconds; }
  bool operator==(const ValueType&) const = default;
};

// Where the weight of a sample comes from.
enum class Weighing {
  kByAccount,  // from the account of its thread, which all its samples share (time_accounts.h)
  kOwn,        // the sample brings it along
};

struct KindOfSamples {
  ls_sample_kind kind;
  std::string_view name;     // its name in files, and the value of the key "state"
  std::string_view unit;     // of weights. Those of time make up the ledger of time
  Weighing weighing;
  std::string_view words;    // its name in sentences
  std::string_view account;  // what follows the name: the account that has all of it
};
// Rows are in the order of enum ls_sample_kind. Formats, readers and sentences use only this table.
inline constexpr KindOfSamples kKindsOfSamples[] = {
    {LS_ON_CPU, "cpu", kNanoseconds, Weighing::kByAccount, "CPU time", " by the kernel's account"},
    {LS_RUNNABLE, "runnable", kNanoseconds, Weighing::kOwn, "time waiting for a processor", ""},
    {LS_WAITING, "waiting", kNanoseconds, Weighing::kOwn, "time waiting", ""},
    {LS_WHOLE_TIME, "wall", kNanoseconds, Weighing::kByAccount, "threads' time", ""},
    {LS_UNINTERRUPTIBLE, "blocked", kNanoseconds, Weighing::kOwn, "time waiting uninterruptibly",
     ""},
};
// A profile can have so many value types.
inline constexpr std::size_t kMostValueTypes = LS_SAMPLE_KIND_COUNT;

ValueType value_of_kind(ls_sample_kind kind);
// Returns null if samples of no kind measure that.
const KindOfSamples* kind_of_value(const ValueType& value);
// The same, but null for kinds that are no time, too.
const KindOfSamples* time_kind(const ValueType& value);
using labelscope::is_wait;
bool is_wait(const ValueType& value);
bool is_by_account(const ValueType& value);
// Whether samples bring a time along that it measures.
bool brings_own_time(const ValueType& value);

// Returns the text that recordings have: "cpu" for a kind of time, "inuse_space/bytes" for anything
// else.
std::string text_of(const ValueType& value);
std::optional<ValueType> parse_value_type(std::string_view text);

}  // namespace labelscope::cli
