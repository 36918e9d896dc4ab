// A Sampler takes samples of chosen processes, each with its thread's labels. Every way of sampling
// has this interface (BPF: bpf/sampling/sampler.h; stopping threads: ptrace_sampler.h).
//
//   sampler->set_process(pid, recipes, presets);  any time, any number of processes
//   sampler->start();
//   while (...) sampler->drain(handler, 50ms); the handler gets samples and what processes do
//   sampler->stop(handler);                    the last samples; the counters are final
//
// One thread at a time may use a Sampler, the same one throughout.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/preset_plan.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "labelscope/unique_fd.h"
#include "sampling/blame_kind.h"
#include "sampling/counters.h"
#include "sampling/process_key.h"
#include "sampling/sample_kind.h"
#include "sampling/sample_mode.h"
#include "sampling/thread_ledger.h"
#include "unwind/frame.h"
#include "unwind/stack.h"

namespace labelscope {

class OneLook;  // process/one_look.h

// By BPF, what samples threads that run: cycles, which the hardware counts, or a clock of the
// kernel. kAny is cycles where they exist.
enum class SampledEvent { kAny, kCycles, kClock };

// Both parts are leaf first; all addresses but the first of each part are return addresses.
struct StackView {
  std::span<const std::uint64_t> kernel;   // addresses
  std::span<const std::uint64_t> user;     // words with a kind (frame.h), or addresses alone
  bool has_kinds = true;
  ls_stack_end end = LS_STACK_NOT_WANTED;  // how the user's part ends
  // Callers were found by the tables of files, as what was known to be mapped when it was taken.
  bool by_tables = false;

  Frame frame(std::uint64_t word) const {
    return has_kinds ? frame_of(word) : Frame{LS_FRAME_CODE, word};
  }
};

// A sample is valid during the call that it is passed to.
struct Sample {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; samples may come out of order
  ls_sample_kind kind = LS_ON_CPU;
  // What the sample stands for, if its kind brings that along (sample_kind.h). Otherwise it is the
  // growth of thread_ns since the last sample of this thread.
  std::uint64_t weight_ns = 0;
  // Of a wait: the system call in which the thread waits, or -1 if it is in none.
  std::int32_t system_call = LS_CALL_NONE;
  // How long the thread has run since start(), or since it was created, by the kernel's account (if
  // the kind is LS_WHOLE_TIME, how long it has existed). The number may be up to a scheduler tick
  // behind, but never behind the thread's last sample.
  std::uint64_t thread_ns = 0;
  ProcessKey process;
  Tid tid{};
  // Which of the threads that have had this number; 0 if that is not known.
  std::uint32_t identity = 0;
  std::string_view comm;
  StackView stack;
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;  // of enum ls_sample_flag
  // They are equal for equal labels: intern by them, and decode them once (label_codec.h). Flags
  // that decoding finds (LS_DUPLICATE_KEY) are added to the sample's.
  std::span<const std::byte> label_bytes;
  // Of a wait whose thread has not sampled it: the number of its label set, as in WaitTotal, in the
  // place of label_bytes; 0: there is none.
  std::uint64_t label_number = 0;
};

// An executable mapping that a sampled process has made (dlopen, mostly, or a JIT).
struct MappingEvent {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0 if that is not known
  Pid pid{};
  Address start = 0;
  std::uint64_t length = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t generation = 0;  // of the inode, whose number may be used again; 0: not known
  std::string_view path;  // the kernel's name for it; "//anon" if there is no file
};

struct WaitTotal;
struct BlameTotal;

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_sample(const Sample& sample) = 0;
  // The child is sampled already, with its parent's recipes. The first drain() also reports those
  // that were forked before start().
  virtual void on_fork(Pid parent, ProcessKey child) = 0;
  // The process goes on under this key. Samples are LS_UNREADABLE_NOT_RELOCATED until set_process()
  // is called for the new program. `name` is the one that the process has from then on, or empty if
  // that is not known: samples from the last moments before have it already.
  virtual void on_exec(ProcessKey process, std::string_view name) = 0;
  // A process that has ended had this name at its end. It comes before on_exit(), if it is known.
  virtual void on_last_name(ProcessKey /*process*/, std::string_view /*name*/) {}
  // The process is forgotten already.
  virtual void on_exit(Pid pid) = 0;
  // The thread has ended, perhaps a while ago, or stop() was called. `thread_ns` is as in Sample,
  // for threads without any sample, too; 0 if nothing is known beyond its last sample.
  virtual void on_thread_end(ProcessKey process, Tid tid, std::uint64_t thread_ns) = 0;
  // The thread goes on after a cut (Sampler::cut()), and has run for so long at that time.
  virtual void on_thread_time(ProcessKey /*process*/, Tid /*tid*/, std::uint64_t /*time_ns*/,
                              std::uint64_t /*thread_ns*/) {}
  virtual void on_mapping(const MappingEvent& mapping) = 0;
  // What has the number in WaitTotal::labels. With `of_blame` it is one of blame, of all sets that
  // have the same labels with the keys by which blame was asked for: only these are meant.
  virtual void on_label_set(ProcessKey /*process*/, std::uint64_t /*number*/,
                            std::span<const std::byte> /*label_bytes*/, bool /*of_blame*/) {}
  // Totals of waits that have become many while sampling goes on. The rest comes at the end
  // (Sampler::wait_totals()); both may have parts of the same total.
  virtual void on_waits(std::span<const WaitTotal> /*waits*/,
                        std::span<const BlameTotal> /*blame*/) {}
  // Some on_mapping() from this time until now may have been left out: the kernel had no room for
  // them. It comes before the first sample that is later. 0: the time is not known.
  virtual void on_mappings_lost(std::uint64_t /*since_ns*/) {}
};

// taken == sum of outcomes + pending, and samples handed out == taken - dropped.
struct Counters {
  std::uint64_t taken = 0;
  std::array<std::uint64_t, LS_OUTCOME_COUNT> outcomes{};
  std::uint64_t pending = 0;  // samples that wait for their repeated read; 0 after stop()
  std::uint64_t dropped = 0;  // samples for which there was no room
  std::uint64_t truncated = 0;
  std::uint64_t lost_thread_ns = 0;  // of threads for whose on_thread_end() there was no room
  Counts others;
  StopSummary stops;
};

// All waits of one kind of a process, under one label set and for one reason, sampled or not. Those
// that have not ended are samples with the flag LS_STILL_WAITING instead.
struct WaitTotal {
  ProcessKey process;
  ls_sample_kind kind = LS_WAITING;
  std::int32_t system_call = LS_CALL_NONE;  // as in Sample
  // The number of a label set, which on_label_set() has named, or has not if it was lost; an
  // outcome, if there were no labels; or kUnknownLabels.
  std::uint64_t labels = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;
  std::array<std::uint64_t, LS_WAIT_BUCKETS> lengths{};
};
inline constexpr std::uint64_t kUnknownLabels = LS_OUTCOME_COUNT;

// What of such a total one is to blame for.
struct BlameTotal {
  WaitTotal wait;  // without lengths; how many waits, or parts of them
  ls_blame_kind kind = LS_BLAME_UNKNOWN;
  ProcessKey process;        // of a thread
  std::uint64_t labels = 0;  // the same, as in WaitTotal
  std::string name;          // of LS_BLAME_PROCESS, as bytes
};

// A process has this recipe until it is planned, so that its samples are not taken for unlabelled
// ones.
inline constexpr ls_tls_recipe kNotPlanned = [] {
  ls_tls_recipe recipe{};
  recipe.kind = LS_RECIPE_NOT_RELOCATED;
  return recipe;
}();

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Samples the process from now on, or replaces its recipes (without any, its samples are
  // unlabelled). The recipes are for the program that it ran at the last on_exec(), or at the first
  // call, whatever it executes meanwhile; so call this once before planning, with kNotPlanned. The
  // presets are those that the recipes name.
  // Fails with kLimit if there are too many recipes or processes. Fails with kVanished if the
  // process has replaced its program since, and another on_exec() comes; or if it has ended.
  virtual Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes,
                             const PresetPlans& presets) = 0;
  Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes) {
    return set_process(pid, recipes, {});
  }
  // This is for a process that joins after start(), and has run before: its time until now is not
  // counted. Its recipe is kNotPlanned.
  virtual Status set_running_process(Pid pid) { return set_process(pid, {&kNotPlanned, 1}); }
  // This is for a process that was sampled, and that nobody has set. Its recipe is kNotPlanned.
  // Fails with kVanished if it is sampled no longer: another process may have its number.
  virtual Status set_sampled_process(Pid pid) { return set_process(pid, {&kNotPlanned, 1}); }
  // This is for a child that is held back until it executes `program` (the descriptor is invalid if
  // that is not known). Until then there is nothing in it to prepare for, but what it will load may
  // be foreseen.
  virtual Status set_before_exec(Pid pid, UniqueFd /*program*/) { return set_process(pid, {}); }
  virtual Status remove_process(Pid pid) = 0;
  // Returns the key of a process that is sampled, as of the last event that was handed out. The
  // life is 0 if there is no such process.
  virtual ProcessKey key_of(Pid pid) const = 0;
  // Returns a look at the process that was taken before start() and is right still, or null. It
  // lives until start().
  virtual const OneLook* first_look(Pid /*pid*/) const { return nullptr; }
  virtual Status start() = 0;
  // drain() returns early when this descriptor can be read. Call it once, before start().
  virtual Status wake_on(int /*fd*/) { return {}; }
  // Hands out the samples and events that there are, or waits for some until the timeout.
  virtual Status drain(EventHandler& handler, std::chrono::milliseconds timeout) = 0;
  // Hands out what has come so far, with the time of each thread that goes on. What comes later is
  // of another window. A wait that has not ended is a sample with LS_STILL_WAITING, of what of it
  // is in this window; what is left of it is in the totals of the window in which it ends.
  // wait_totals(), blame_totals() and thread_ledgers() have what is of this window, too.
  // Fails with kUnsupported if the sampler knows no such times.
  virtual Status cut(EventHandler& /*handler*/) {
    return Error{ErrorCode::kUnsupported, "this sampler cuts no windows"};
  }
  // After a cut: the numbers of label sets that may come again under the same meaning, however long
  // ago they were named. Others may be forgotten: they are named again if they come again.
  virtual std::vector<std::uint64_t> label_numbers_in_use() const { return {}; }
  virtual void forget_label_numbers(std::span<const std::uint64_t> /*numbers*/) {}
  // Takes no more samples, and hands out the rest.
  virtual Status stop(EventHandler& handler) = 0;

  virtual Counters counters() const = 0;
  // When CPU time and waits began and ceased to count, by CLOCK_MONOTONIC, after stop(); zeros if
  // that is not known better than by the calls.
  struct Span {
    std::uint64_t began_ns = 0;
    std::uint64_t ended_ns = 0;
    std::uint64_t cut_ns = 0;  // where the last window ended; 0 if that is not known better
  };
  virtual Span span() const { return {}; }
  // Sentences about what has happened to the recording that no counter can say.
  virtual std::vector<std::string> remarks() const { return {}; }
  // Totals of waits, after stop() or cut(), without what on_waits() has handed out. They are empty
  // if the mode does not sample waits.
  virtual std::vector<WaitTotal> wait_totals() const { return {}; }
  // How the time of each thread divides, after stop() or cut(). Empty if waits are not sampled.
  virtual ThreadLedgers thread_ledgers() const { return {}; }
  // What is known of who made threads wait, after stop() or cut(), if that was asked for.
  virtual std::vector<BlameTotal> blame_totals() const { return {}; }
  // Returns why a thread of a target may not be looked at, in words for the first such thread;
  // nothing if all may.
  virtual std::string refusal() const { return {}; }
  virtual std::string_view event_name() const = 0;  // "cycles", "cpu-clock", ...
  // This is for a watchdog that ensures that no thread of a target is held for long: it returns
  // another number for each stop, and 0 if there is none now. It is thread-safe, unlike everything
  // else here.
  virtual std::uint64_t current_stop() const { return 0; }
};

}  // namespace labelscope
