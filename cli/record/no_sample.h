// Why a recording caught nothing, as far as the kernel tells.
#pragma once

#include <chrono>
#include <string>

namespace labelscope::cli {

struct NoSample {
  std::string standstill;          // why the targets do not run; empty: nothing holds them
  bool ended = false;              // they all have
  bool interrupted = false;        // by Ctrl-C or another signal
  bool command = false;            // the target was started by labelscope
  std::chrono::nanoseconds ran{};  // on processors, by the kernel's account
  std::chrono::nanoseconds duration{};
  unsigned frequency_hz = 0;
  bool wall = false;                     // threads that wait were to be sampled, too
  bool ptrace = false;                   // by looking at intervals, not by events of the processor
  bool bpf_helps = false;                // it could be used instead
  std::string for_wall = "--mode wall";  // the options that would sample threads that wait
};

// One clause: "the target ran on a processor for 3 ms of 1,038 ms, ...".
std::string why_no_sample(const NoSample& recording);

}  // namespace labelscope::cli
