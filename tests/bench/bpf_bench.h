// The benchmark's BPF programs (bench.bpf.c), loaded: run by hand in the calling thread, or by the
// events of a process.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "labelscope/unique_fd.h"
#include "tests/bench/bench_wire.h"

struct bench_bpf;

namespace labelscope::bench {

enum class Part { kEmpty, kFind, kStack, kLabels, kBoth, kNaive };
inline constexpr std::array kParts{Part::kEmpty,  Part::kFind, Part::kStack,
                                   Part::kLabels, Part::kBoth, Part::kNaive};
std::string_view part_name(Part part);

class BpfBench {
 public:
  // Fails with kPermission if the user is not root, and with kUnsupported if the kernel cannot run
  // these programs by hand (5.10).
  static Result<BpfBench> open();
  BpfBench(BpfBench&& other) noexcept;
  BpfBench& operator=(BpfBench&& other) = delete;
  ~BpfBench();

  Status set_process(Pid pid, const ls_tls_recipe& recipe);
  // Returns the nanoseconds of one execution in the calling thread, as the mean of
  // BENCH_REPETITIONS.
  Result<double> run(Part part);
  // Returns what the last execution of any program saw.
  const bench_result& result() const;

  // Returns the event_* program of a part, to attach it to an event and to read its statistics.
  int event_program_fd(Part part) const;

  // These three are for the ring buffer: they set a record for `emit` to send, run it once, and
  // return the ring.
  Status set_record(std::uint32_t index, const bench_record& record);
  Status emit();
  int ring_fd() const;

 private:
  explicit BpfBench(bench_bpf* skeleton) : skeleton_(skeleton) {}
  bench_bpf* skeleton_;
};

// As long as the descriptor is open, the kernel adds up the run time of every BPF program (5.8).
Result<UniqueFd> enable_statistics();

// A CPU-clock event of one process that runs a BPF program. It is disabled at first.
class ProcessEvent {
 public:
  static Result<ProcessEvent> open(Pid pid, std::uint32_t frequency_hz, int program_fd);
  Status enable();
  Status disable();

 private:
  explicit ProcessEvent(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// Calls `work` from below `depth` frames with frame pointers.
void at_depth(int depth, const std::function<void()>& work);
// Pins this thread to the last CPU, since the first one takes most interrupts.
Status pin_to_last_cpu();

}  // namespace labelscope::bench
