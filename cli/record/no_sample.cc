#include "cli/record/no_sample.h"

#include <algorithm>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

using std::chrono::nanoseconds;

std::string in_ms(nanoseconds time) {
  return with_thousands(static_cast<std::uint64_t>(time / std::chrono::milliseconds(1))) + " ms";
}

// Explains a recording that was over before a sample could be expected: what the target did in that
// time means nothing. Empty for any other.
std::string over_at_once(const NoSample& recording) {
  constexpr int kFewPeriods = 3;
  const nanoseconds period = nanoseconds(std::chrono::seconds(1)) / recording.frequency_hz;
  if (recording.duration >= kFewPeriods * period) return {};
  const bool began = recording.duration >= std::chrono::milliseconds(1);
  const std::string when = began
                               ? in_ms(recording.duration) + " after labelscope had begun to sample"
                               : std::string("before labelscope began to sample");
  if (recording.interrupted) return "the recording was interrupted " + when;
  // For a command it is known how long it ran.
  if (recording.ended && !recording.command) return "the target ended " + when;
  return {};
}

}  // namespace

std::string why_no_sample(const NoSample& recording) {
  const std::string rate = std::to_string(recording.frequency_hz) + " Hz";
  if (std::string over = over_at_once(recording); !over.empty()) return over;
  if (recording.wall) {
    return "the target had no thread to stop in " + in_ms(recording.duration) + " at " + rate;
  }
  if (!recording.standstill.empty()) return recording.standstill;
  // The kernel's work for a process that waits is counted, too, so this much is nothing.
  constexpr nanoseconds kNothing = std::chrono::microseconds(100);
  if (recording.ran < kNothing) {
    return recording.ended
               ? "the target ended after " + in_ms(recording.duration) +
                     ", before it was seen on a processor at " + rate
               : "the target did not run on a processor in " + in_ms(recording.duration) +
                     "; it was idle or waiting: " + recording.for_wall +
                     " shows where threads wait";
  }
  // The kernel's account is of whole processes, and may reach to before the start of the recording.
  const nanoseconds time = std::min(recording.ran, recording.duration);
  const std::string ran =
      "the target ran for " +
      (time < std::chrono::milliseconds(1) ? std::string("less than 1 ms") : in_ms(time)) + " of " +
      in_ms(recording.duration);
  if (recording.ptrace) {
    return ran + ", and never when it was looked at, " + rate +
           (recording.bpf_helps ? ": --backend bpf sees short bursts, or a higher -F"
                                : ": a higher -F looks more often");
  }
  // A longer -d does not help if the run is over.
  return ran + ", too little for a sample at " + rate + ": a higher -F helps, or " +
         (recording.ended ? "a program that runs longer" : "a longer -d");
}

}  // namespace labelscope::cli
