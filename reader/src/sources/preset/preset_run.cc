#include "sources/preset/preset_run.h"

#include <array>
#include <cstring>
#include <string_view>

#include "sources/variable/value.h"

// These functions are what preset_walk.h leaves to whoever includes it.
struct ls_preset_host {
  const labelscope::MemorySource& memory;
  std::uint32_t thread_number;
  std::string_view thread_name;
  // Blocks of the kernel have the same room behind the last byte that may be used.
  std::array<std::uint8_t, LS_MAX_LABEL_BYTES + labelscope::kMostText> labels{};
};

namespace {

int ls_preset_address(ls_preset_host* host, __u64* address) {
  *address = host->memory.untagged(*address);
  return *address < labelscope::kUserAddressEnd ? 1 : 0;
}

int ls_preset_read(ls_preset_host* host, void* out, __u32 size, __u64 address) {
  const std::span bytes(static_cast<std::byte*>(out), size);
  return size == 0 || host->memory.read(address, bytes) ? 1 : 0;
}

long ls_preset_read_text(ls_preset_host* host, __u8* out, __u64 address) {
  const std::span<std::byte, labelscope::kMostText> bytes(reinterpret_cast<std::byte*>(out),
                                                          labelscope::kMostText);
  return static_cast<long>(labelscope::read_c_string(host->memory, address, bytes));
}

void ls_preset_copy(__u8* out, const __u8* from, __u32 size) { std::memcpy(out, from, size); }

__u8* ls_preset_room(ls_preset_host* host, __u64 used) { return host->labels.data() + used; }

__u32 ls_preset_thread_number(ls_preset_host* host) { return host->thread_number; }

int ls_preset_thread_name(ls_preset_host* host, __u8* out) {
  if (host->thread_name.empty()) return 0;
  std::memset(out, 0, LS_PRESET_NAME);
  host->thread_name.copy(reinterpret_cast<char*>(out), LS_PRESET_NAME - 1);
  return 1;
}

}  // namespace

// It uses them, so it comes behind them.
#include "labelscope/preset_walk.h"

namespace labelscope {
namespace {

// Does one step and notes what it did.
unsigned traced_step(ls_preset_host& host, ls_preset_run& run, unsigned at,
                     std::vector<PresetTraceStep>& trace) {
  const ls_preset_step& step = run.program.step[at];
  PresetTraceStep seen;
  seen.at = at;
  seen.from = run.slot[step.from % LS_PRESET_SLOTS];
  seen.other = ls_preset_other(&run, &step);
  seen.held = ls_preset_holds(&step, seen.from, seen.other) != 0;
  const std::uint32_t used = run.used;
  seen.next = ls_preset_run_step(&host, &run, at);
  seen.to = run.slot[step.to % LS_PRESET_SLOTS];
  seen.outcome = static_cast<ls_outcome>(run.outcome);
  if (run.used != used) {
    const std::span all = std::as_bytes(std::span(host.labels));
    const auto label = all.subspan(used, run.used - used).subspan(sizeof(ls_preset_label));
    seen.label.assign(label.begin(), label.end());
  }
  const unsigned next = seen.next;
  trace.push_back(std::move(seen));
  return next;
}

void note_comparison(const ls_preset_run& run, const ls_preset_step& step,
                     std::vector<std::uint64_t>& compared) {
  if (step.op != LS_PRESET_UNLESS && step.op != LS_PRESET_NEED) return;
  compared.push_back(run.slot[step.from % LS_PRESET_SLOTS]);
  compared.push_back(ls_preset_other(&run, &step));
}

}  // namespace

PresetReading run_preset(const PresetPlan& plan, const ThreadView& thread,
                         std::vector<PresetTraceStep>* trace) {
  const ThreadState state = thread.thread == nullptr ? ThreadState() : *thread.thread;
  ls_preset_host host{thread.memory, static_cast<std::uint32_t>(raw(state.tid)), state.name};
  ls_preset_run run;
  run.program = plan.program;
  ls_preset_begin(&run, thread.variable, state.thread_pointer);
  PresetReading reading;
  for (unsigned at = 0; at < LS_PRESET_END;) {
    const bool is_step = at < run.program.count;
    if (is_step) note_comparison(run, run.program.step[at], reading.compared);
    at = trace != nullptr && is_step ? traced_step(host, run, at, *trace)
                                     : ls_preset_run_step(&host, &run, at);
  }
  reading.raw = {static_cast<ls_outcome>(ls_preset_outcome(&run)), run.flags, {}};
  if (reading.raw.outcome != LS_LABELLED) return reading;
  const ls_preset_labels head{plan.number, run.count};
  std::memcpy(host.labels.data(), &head, sizeof head);
  const std::span bytes = std::as_bytes(std::span(host.labels)).first(run.used);
  reading.raw.bytes.assign(bytes.begin(), bytes.end());
  return reading;
}

}  // namespace labelscope
