// The BPF sampler: on-CPU samples of chosen processes, each with its thread's labels.
//
//   auto sampler = Sampler::open(options);        loads and attaches, takes nothing yet
//   (*sampler)->set_process(pid, recipes);        any time, any number of processes
//   (*sampler)->start();
//   while (...) (*sampler)->drain(handler, 50ms); the handler sees samples and what processes do
//   (*sampler)->stop(handler);                    the last samples; the counters are final
//
// One thread at a time may use a Sampler.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bpf/records.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// When a page with labels is not in memory: read again with page faults allowed, where the kernel
// can.
enum class RetryMode { kAuto, kOff };

struct SamplerOptions {
  std::uint32_t frequency_hz = 99;
  bool user_stacks = true;
  bool kernel_stacks = true;
  bool follow_children = true;
  bool software_clock_only = false;  // cpu-clock even where the hardware counts cycles
  RetryMode retries = RetryMode::kAuto;
  std::uint32_t max_processes = 4096;
  std::size_t ring_bytes = 8 << 20;  // rounded up to a power of two of pages
};

// Valid during the call that it is passed to.
struct RawSample {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; samples may come out of order
  Pid pid{};
  Tid tid{};
  std::string_view comm;
  std::span<const std::uint64_t> user_stack;  // leaf first
  std::span<const std::uint64_t> kernel_stack;
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  // Equal labels have equal keys: intern by it, and decode_label_key() each one once.
  std::span<const std::byte> label_key;
};

// An executable mapping that a sampled process has made (dlopen, mostly, or a JIT).
struct MappingEvent {
  Pid pid{};
  Address start = 0;
  std::uint64_t length = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::string_view path;  // as the kernel names it; "//anon" where there is no file
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_sample(const RawSample& sample) = 0;
  // The child is sampled already, with its parent's recipes.
  virtual void on_fork(Pid parent, Pid child) = 0;
  // Samples are LS_UNREADABLE_NOT_RELOCATED until set_process() is called for the new program.
  virtual void on_exec(Pid pid) = 0;
  // The process is forgotten already.
  virtual void on_exit(Pid pid) = 0;
  virtual void on_mapping(const MappingEvent& mapping) = 0;
  // Some on_mapping() were left out: the kernel had no room for them.
  virtual void on_mappings_lost() {}
};

// taken == sum of outcomes + pending, and samples handed out == taken - dropped.
struct Counters {
  std::uint64_t taken = 0;
  std::array<std::uint64_t, LS_OUTCOME_COUNT> outcomes{};
  std::uint64_t pending = 0;  // waiting for their repeated read; 0 after stop()
  std::uint64_t dropped = 0;  // samples for which the ring buffer had no room
  std::uint64_t truncated = 0;
  std::map<std::string, std::uint64_t> others;  // by name, where not 0
};

class Sampler {
 public:
  // kPermission, kLimit and kUnsupported say in their context which capability, sysctl or kernel
  // feature is missing.
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options);
  virtual ~Sampler() = default;

  // Samples the process from now on, or replaces its recipes (none: its samples are unlabelled).
  // They count for the program that it ran at the last on_exec(), or at the first call, whatever it
  // executes meanwhile; so call it once before planning, with a recipe that is not relocated yet.
  // kLimit: too many recipes or processes. kVanished: it has replaced its program since, and
  // another on_exec() is on its way; or it has ended.
  virtual Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes) = 0;
  virtual Status remove_process(Pid pid) = 0;
  virtual Status start() = 0;
  // Waits until the timeout or until the ring buffer is half full, then hands out what is there.
  // Ends early on a signal.
  virtual Status drain(EventHandler& handler, std::chrono::milliseconds timeout) = 0;
  // Takes no more samples, hands out the rest, gives up on repeated reads that did not happen.
  virtual Status stop(EventHandler& handler) = 0;

  virtual Counters counters() const = 0;
  virtual std::string_view event_name() const = 0;  // "cycles" or "cpu-clock"
  virtual bool retries() const = 0;
  // Why reads are not repeated, in words; empty if they are, or if that was not asked for.
  virtual std::string_view retry_problem() const = 0;
  // Of the sampling program, for the kernel's run-time statistics (BPF_ENABLE_STATS).
  virtual int program_fd() const = 0;
};

// The kernel's statistics of one program; zeros unless they are enabled.
struct ProgramStatistics {
  std::uint64_t run_time_ns = 0;
  std::uint64_t run_count = 0;
};
Result<ProgramStatistics> program_statistics(int program_fd);

}  // namespace labelscope
