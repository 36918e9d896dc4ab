#include "cli/record/no_sample.h"

#include "cli/format/escape.h"
#include "cli/format/text.h"
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

}  // namespace

std::string why_no_sample(const NoSample& recording) {
  const std::string rate = std::to_string(recording.frequency_hz) + " Hz";
  if (recording.wall) {
    return "the target had no thread to stop in " + in_ms(recording.duration) + " at " + rate;
  }
  for (Pid pid : recording.targets) {
    if (std::string held = standstill(pid); !held.empty()) return held;
  }
  // What the kernel does for a process that waits is counted, too.
  constexpr nanoseconds kNothing = std::chrono::microseconds(100);
  if (recording.ran < kNothing) {
    return recording.ended ? "the target ended after " + in_ms(recording.duration) +
                                 ", before it was seen on a processor at " + rate
                           : "the target did not run on a processor in " +
                                 in_ms(recording.duration) + "; it was idle or waiting";
  }
  const std::string ran =
      "the target ran for " +
      (recording.ran < std::chrono::milliseconds(1) ? std::string("less than 1 ms")
                                                    : in_ms(recording.ran)) +
      " of " + in_ms(recording.duration);
  if (recording.ptrace) {
    return ran + ", and never when it was looked at, " + rate +
           ": --backend bpf sees short bursts, or a higher -F";
  }
  // A run that is over is not longer with another -d.
  return ran + ", too little for a sample at " + rate + ": a higher -F helps, or " +
         (recording.ended ? "a program that runs longer" : "a longer -d");
}

}  // namespace labelscope::cli
