// These are a caller's choices for the BPF sampler. They are in load/ because that is the first
// room that uses them: it loads programs and maps accordingly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "sampling/sampler.h"
#include "unwind/stack.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

// This decides what happens when a page with labels is not in memory. kAuto reads again with page
// faults allowed, if the kernel can do that.
enum class RetryMode { kAuto, kOff };

struct SamplerOptions {
  SampleMode mode = SampleMode::kCpu;
  bool blames = false;  // if it samples waits: they are blamed on who made the threads wait
  // Labels with these keys are in no output, and with those that are kept, unless these are empty,
  // no others are. So totals of waits need not be divided by them. Blame is asked for by its keys,
  // and once there are too many pairs of label sets, it is divided by nothing else.
  std::vector<std::string> left_out_keys{};
  std::vector<std::string> kept_keys{};
  std::vector<std::string> blame_keys{};
  std::uint32_t frequency_hz = 99;
  ls_call_graph call_graph = LS_CALL_GRAPH_FP;  // how the user's part of a stack is taken
  bool kernel_stacks = true;
  bool follow_children = true;
  SampledEvent event = SampledEvent::kAny;
  RetryMode retries = RetryMode::kAuto;
  std::uint32_t max_processes = 4096;
  // Whether recipes of presets may be set: without them the programs load sooner, and a thread that
  // has such a recipe all the same is unreadable.
  bool presets = true;
  // Each program that has been executed has its own, for each preset that fits it: the addresses of
  // its variables are in there. A forked child shares that of its parent.
  std::uint32_t max_preset_programs = 128;
  std::uint32_t max_threads = 65536;     // whose waits are sampled at the same time
  std::size_t ring_bytes = 8 << 20;      // rounded up to a power of two of pages
  std::size_t unwind_bytes = 256 << 20;  // for tables, with LS_CALL_GRAPH_DWARF
  // start() waits at most so long for the tables of files that run already; of a process with
  // hundreds of files it waits for the first ones. Until a file's table is there, stacks end with
  // the reason that it has none, and such an end lets its table be made before the others.
  std::chrono::milliseconds tables_wait{2000};
  // The processes that are set before start(), if they run already. Their mappings are read while
  // the programs load.
  std::vector<Pid> first_processes{};
  // Makes the table of a file; by default in this process.
  BuildUnwindTable build_table{};
};

}  // namespace labelscope
