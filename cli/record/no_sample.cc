#include "cli/record/no_sample.h"

#include <algorithm>

#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/target.h"

namespace labelscope::cli {
namespace {

using std::chrono::nanoseconds;

// The value of a line of /proc/PID/status.
std::string field(const std::string& status, const std::string& name) {
  const std::string start = "\n" + name + ":\t";
  const std::size_t at = status.find(start);
  if (at == std::string::npos) return {};
  const std::size_t value = at + start.size();
  return status.substr(value, status.find('\n', value) - value);
}

// Of a process that stands still: who holds it, and what lets it go on. Empty for any other.
std::string standstill(Pid pid) {
  const auto process = LiveProcess::open(pid);
  if (!process) return {};
  const auto status = (*process)->read_proc("status");
  if (!status) return {};
  const std::string state = field(*status, "State");
  const std::string name = "process " + std::to_string(raw(pid));
  if (state.starts_with('T')) {
    return name + " is stopped (SIGSTOP, or Ctrl-Z): kill -CONT " + std::to_string(raw(pid)) +
           " lets it go on";
  }
  if (!state.starts_with('t')) return {};
  const std::string tracer = field(*status, "TracerPid");
  return name + " is held by its tracer" +
         (tracer.empty() || tracer == "0" ? std::string()
                                          : ", process " + escape_terminal(tracer)) +
         ": let it go on there";
}

std::string in_ms(nanoseconds time) {
  return with_thousands(static_cast<std::uint64_t>(time / std::chrono::milliseconds(1))) + " ms";
}

// Of a recording that was over before a sample could be expected: what the target did in that time
// says nothing about it. Empty for any other.
std::string over_at_once(const NoSample& recording) {
  constexpr int kFewPeriods = 3;
  const nanoseconds period = nanoseconds(std::chrono::seconds(1)) / recording.frequency_hz;
  if (recording.duration >= kFewPeriods * period) return {};
  const bool began = recording.duration >= std::chrono::milliseconds(1);
  const std::string when = began
                               ? in_ms(recording.duration) + " after labelscope had begun to sample"
                               : std::string("before labelscope began to sample");
  if (recording.interrupted) return "the recording was interrupted " + when;
  // Of a command it is known how long it ran.
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
  for (Pid pid : recording.targets) {
    if (std::string held = standstill(pid); !held.empty()) return held;
  }
  // What the kernel does for a process that waits is counted, too.
  constexpr nanoseconds kNothing = std::chrono::microseconds(100);
  if (recording.ran < kNothing) {
    return recording.ended
               ? "the target ended after " + in_ms(recording.duration) +
                     ", before it was seen on a processor at " + rate
               : "the target did not run on a processor in " + in_ms(recording.duration) +
                     "; it was idle or waiting: --mode wall shows where threads wait";
  }
  // The kernel's account is of whole processes, and may reach to before the beginning.
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
  // A run that is over is not longer with another -d.
  return ran + ", too little for a sample at " + rate + ": a higher -F helps, or " +
         (recording.ended ? "a program that runs longer" : "a longer -d");
}

}  // namespace labelscope::cli
