// StackTables is what a way to take stacks knows of the sampled processes, and keeps in maps for
// its BPF program. The sampler reports what happens to processes, and asks for nothing else:
//
//   call graph   implemented by            what it keeps
//   dwarf        unwind_processes.h        the mappings of each process, and tables of their files
//   fp, none     StackTables itself        nothing: all its functions do nothing
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bpf/load/first_parts.h"
#include "bpf/load/sampler_options.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "sampling/counters.h"
#include "sampling/process_key.h"
#include "sampling/sampler.h"

struct bpf_object;

namespace labelscope {

class StackTables {
 public:
  // Returns the life of the process (wire.h), or nullopt if it has ended.
  using LifeOf = std::function<std::optional<std::uint32_t>(Pid)>;

  // Opens the tables that the call graph of these options needs, with the maps of the loaded
  // object.
  static Result<std::unique_ptr<StackTables>> open(const SamplerOptions& options,
                                                   const bpf_object* object, LifeOf life,
                                                   FirstParts first = {});

  StackTables() = default;
  virtual ~StackTables() = default;
  StackTables(const StackTables&) = delete;
  StackTables& operator=(const StackTables&) = delete;

  // The process is sampled from now on, or runs another program. With a look at it (null: there is
  // none) the first sample waits: tables of the first files are enough for now.
  virtual void set(Pid /*pid*/, const OneLook* /*look*/) {}
  // A program is about to be executed (the descriptor is invalid if it is not known which). This
  // begins to make the tables that it most likely needs: a program that runs for a second would end
  // before they are all there.
  virtual void expect(UniqueFd /*program*/) {}
  virtual void forget(Pid /*pid*/) {}
  virtual void on_fork(ProcessKey /*parent*/, ProcessKey /*child*/) {}
  // A process has mapped something, and it is not known what.
  virtual void on_mapping(Pid /*pid*/) {}
  // A process has mapped this. It is reported before all samples that are later.
  virtual void on_report(const MappingEvent& /*mapping*/) {}
  // Returns the first frame of a stack of that time behind which what was taken for a caller may be
  // none, because something was mapped since `list` (SampleRecord) was made.
  virtual std::optional<std::size_t> doubtful_frame(
      Pid /*pid*/, std::uint32_t /*list*/, std::uint64_t /*time_ns*/,
      std::span<const std::uint64_t> /*frames*/) const {
    return std::nullopt;
  }
  // Reads the mappings of the process now, however often it has changed them.
  virtual void look_again(Pid /*pid*/) {}
  // Waits until the tables that were asked for are there, or until the time is over.
  virtual void wait(std::chrono::milliseconds /*timeout*/) {}
  // A stack ends at this address, in a file whose table is not there: it is wanted next.
  virtual void want(Pid /*pid*/, Address /*address*/) {}
  // Takes finished tables, and reads mappings again if that is due. Call it often.
  virtual void work() {}
  // Returns the longest time until the next call of work(): it is short while there is something to
  // do.
  virtual std::chrono::milliseconds longest_wait() const {
    return std::chrono::milliseconds::max();
  }
  // This descriptor is readable when there are finished tables for work(). It is -1 if there never
  // are any.
  virtual int ready_fd() const { return -1; }
  // Adds its counts to the ledger.
  virtual void add_counts(Counts& /*counts*/) const {}
};

}  // namespace labelscope
