// Which threads are sampled, and of which kinds the samples are then.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "sampling/sample_kind.h"

namespace labelscope {

// cpu samples threads that run. Each sample stands for one period of its thread's own CPU time,
// which the kernel counts: a thread that waits for a processor among many costs nothing and is not
// sampled more often. off-CPU samples threads that do not run: each sample stands for time that its
// thread waits, or waits for a processor. wall is both, by BPF; ptrace samples all threads at every
// tick instead, whatever they do then.
enum class SampleMode { kCpu, kOffCpu, kWall };

// The kinds of a profile's samples: its value types, in this order.
using SampleKinds = std::span<const ls_sample_kind>;

inline constexpr std::array kOnCpuOnly{LS_ON_CPU};
inline constexpr std::array kWholeTimeOnly{LS_WHOLE_TIME};
inline constexpr std::array kWaits{LS_WAITING, LS_UNINTERRUPTIBLE, LS_RUNNABLE};
inline constexpr std::array kAllKinds{LS_ON_CPU, LS_WAITING, LS_UNINTERRUPTIBLE, LS_RUNNABLE};

constexpr bool is_wait(ls_sample_kind kind) {
  return kind == LS_WAITING || kind == LS_UNINTERRUPTIBLE || kind == LS_RUNNABLE;
}

// What samples a mode has by each way of sampling. All else that differs between modes follows from
// that.
struct Mode {
  SampleMode value;
  std::string_view name;  // value of --mode
  SampleKinds by_bpf;
  SampleKinds by_ptrace;  // empty: ptrace does not have this mode
};
// Rows are in the order of SampleMode.
inline constexpr Mode kModes[] = {{SampleMode::kCpu, "cpu", kOnCpuOnly, kOnCpuOnly},
                                  {SampleMode::kOffCpu, "offcpu", kWaits, {}},
                                  {SampleMode::kWall, "wall", kAllKinds, kWholeTimeOnly}};
constexpr const Mode& mode_of(SampleMode mode) { return kModes[static_cast<std::size_t>(mode)]; }

// Whether BPF samples threads that run, or that wait, in this mode.
constexpr bool samples_running(SampleMode mode) {
  return std::ranges::find(mode_of(mode).by_bpf, LS_ON_CPU) != mode_of(mode).by_bpf.end();
}
constexpr bool samples_waits(SampleMode mode) {
  return std::ranges::any_of(mode_of(mode).by_bpf, [](auto kind) { return is_wait(kind); });
}
// The kind of all samples by ptrace; that of CPU time where it does not have the mode.
constexpr ls_sample_kind kind_by_ptrace(SampleMode mode) {
  return mode_of(mode).by_ptrace.empty() ? LS_ON_CPU : mode_of(mode).by_ptrace.front();
}

}  // namespace labelscope
