// A recording in memory: every format renders this, and a .jsonl recording holds it.
//
// Tables refer to each other by index; all strings from a target are bytes. The recorder fills it
// (samples, modules, stacks), the symbolizer completes it (Location::lines), then it is only read.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/profile/process_root.h"
#include "cli/profile/shared_text.h"
#include "cli/profile/value_types.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/process_facts.h"
#include "labelscope/unique_fd.h"
#include "sampling/blame_kind.h"
#include "sampling/counters.h"
#include "sampling/process_key.h"
#include "sampling/thread_ledger.h"
#include "unwind/frame.h"
#include "unwind/stack.h"

namespace labelscope::cli {

using Index = std::uint32_t;
inline constexpr Index kNoIndex = UINT32_MAX;
inline constexpr Index kUnknownModule = kNoIndex - 1;  // in no table

// A file (or the kernel) that code came from, as one process has mapped it.
struct ProfileModule {
  enum class Kind { kFile, kKernel, kUnknown };
  Kind kind = Kind::kUnknown;
  std::string path;  // as the target names it; "[kernel]", "[vdso]", "[anon]" if there is no file
  std::string build_id;  // lower-case hex, or empty
  Address start = 0;     // runtime range of the executable mapping
  Address end = 0;
  std::uint64_t file_offset = 0;  // offset of `start` in the file
  std::uint64_t load_bias = 0;    // runtime address minus link-time address
  // Of generated code: how long its perf map was at the first sample (perf_maps.h).
  std::uint64_t first_map_bytes = UINT64_MAX;
  // Why frames of this module have no names, in words; empty if they have.
  std::string symbol_problem;
  // What the symbolizer has found out about that, for windows to come.
  std::string why_nameless;
};

// The open file of a module. It was opened early, while the target lived. So it is the file that
// the target ran, even if that was replaced or deleted since, or is in a container. Null if it
// could not be opened.
struct OpenModuleFile : UniqueFd {
  using UniqueFd::UniqueFd;
  explicit OpenModuleFile(UniqueFd fd) : UniqueFd(std::move(fd)) {}
  // Where paths of its process begin, if that is not where ours do (process_root.h); else null.
  std::shared_ptr<const ProcessRoot> root{};
};
using ModuleFile = std::shared_ptr<OpenModuleFile>;

// One source line at a location; there are several if the compiler has inlined functions.
struct SourceLine {
  // Demangled name; empty if unknown. "libfoo.so.1+0x1234" for a function of which only the start
  // is known: then it has no system_name.
  SharedText function;
  SharedText system_name;  // name in the symbol table
  SharedText file;         // empty if unknown
  int line = 0;            // 0 if unknown
};

// One place in code. Equal places in different processes share a Location only if the module is
// shared.
struct Location {
  Index module = kNoIndex;
  // Runtime address of the instruction (return addresses already moved back by one, so that they
  // point into the call). In a script it is a number that distinguishes places of its module.
  Address address = 0;
  std::vector<SourceLine> lines;  // innermost (most inlined) first; empty until symbolized
  ls_frame_kind kind = LS_FRAME_CODE;
  // True if its names were looked for, in this window or in one before.
  bool was_named = false;

  // Returns whether the function has a name from a symbol table or debug information.
  bool has_name() const { return !lines.empty() && !lines.back().system_name.empty(); }
};

struct Thread {
  Index process = kNoIndex;
  Tid tid{};
  std::string name;  // the last one seen
  // The account that its time is shared out in (time_accounts.h): this thread's own index, or that
  // of another thread for all threads of an account; kNoIndex: it has no samples.
  Index account = kNoIndex;
};

// A process from its fork, or from an exec, to its end or the next exec: so there may be several
// with one number.
struct Process {
  Pid pid{};
  std::string comm;  // the last one seen
  std::vector<std::string> publishers;  // paths, in the order of Label::publisher
  // facts that it has published about itself: service.name, ...
  Attributes attributes;
  // The first process of the server that it is a part of: that from which it and its siblings were
  // forked, or itself. One that is not recorded has no life. While recording alone: no file has it.
  ProcessKey server{};
};

struct Stack {
  std::vector<Index> frames;  // locations, leaf first: kernel frames, then user frames
  ls_stack_end end = LS_STACK_NOT_WANTED;
  bool operator==(const Stack&) const = default;
};

// One sample, or (in an aggregated profile) `count` equal ones.
struct SampleRow {
  std::uint64_t time_ns = 0;    // by CLOCK_MONOTONIC; 0 in an aggregated profile
  std::uint64_t weight_ns = 0;  // time that it stands for; shares are shares of this
  std::uint64_t count = 1;
  Index thread = kNoIndex;
  Index stack = kNoIndex;
  Index label_set = kNoIndex;  // index in label_sets; the empty set is an entry like any other
  std::uint16_t flags = 0;     // bits of enum ls_sample_flag
  std::uint8_t outcome = 0;    // value of enum ls_outcome
  std::uint8_t value = 0;      // what the weight measures, as an index in Profile::values
};
// Returns whether samples were taken at times that the row does not say. A total of waits without a
// sample (fit_waits.h) has no such times.
inline bool lacks_time(const SampleRow& row) { return row.time_ns == 0 && row.count != 0; }

// The waits of which the kernel has one total: those of one kind, of a process under one label set.
// What a thread waited for is a label (wait_reason.h).
struct WaitGroup {
  Index process = kNoIndex;
  Index label_set = kNoIndex;
  std::uint8_t outcome = 0;  // as in SampleRow
  std::uint8_t value = 0;
  auto operator<=>(const WaitGroup&) const = default;
};

// All waits of a group that have ended, sampled or not.
struct WaitRow : WaitGroup {
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;  // 0: their time is estimated from samples (fit_waits.h)
  std::array<std::uint64_t, LS_WAIT_BUCKETS> lengths{};  // waits by length (sample_kind.h)
};

// What made threads wait.
struct Blamed {
  ls_blame_kind kind = LS_BLAME_UNKNOWN;
  std::uint8_t outcome = 0;    // of a thread: as in SampleRow, of its labels at that moment
  Index process = kNoIndex;    // of a thread
  Index label_set = kNoIndex;  // of a thread
  std::string name;            // of LS_BLAME_PROCESS
};

// A part of the waits of a WaitRow, or of waits that have not ended (LS_STILL_WAITING).
struct BlameRow : WaitGroup {
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;  // waits, or turns of others on a processor
  Blamed by;
};

// A label whose values were too many (value_caps.h): how many it had, and how much of the samples
// have one of those that were not kept.
struct CappedLabel {
  std::string key;
  std::size_t values = 0;
  std::size_t kept = 0;
  std::uint64_t samples = 0;
  std::uint64_t weight_ns = 0;
};

// The time of all sampled threads, as the kernel counts it: CPU time, or for how long they existed
// if all time is sampled.
struct TimeLedger {
  std::uint64_t attributed_ns = 0;  // equals the sum of the rows' weights of all value types
  // time of threads without a sample that had no other thread to share it with, and of waits under
  // unknown labels of a kind that was never sampled
  std::uint64_t unsampled_ns = 0;
  std::uint64_t lost_ns = 0;  // time of threads whose end was missed
  // What other accounts of the same time have less, or more (KernelTotals): the parts above hold
  // time twice, or they hold time by guess that no thread's account has.
  std::uint64_t twice_ns = 0;
  std::uint64_t missing_ns = 0;
  // The same of waits, as far as it is no chance (record/wait_differences.h).
  std::uint64_t waits_twice_ns = 0;
  std::uint64_t waits_missing_ns = 0;
  std::uint64_t unsampled_waits_ns = 0;  // of unsampled_ns: waits. No file has it.
  std::uint64_t whole() const { return attributed_ns + unsampled_ns + lost_ns; }
};

// The numbers that must add up: taken = sum(outcomes) and written = taken - dropped.
struct Ledger {
  std::uint64_t taken = 0;
  std::uint64_t outcomes[LS_OUTCOME_COUNT] = {};
  std::uint64_t dropped = 0;    // lost because the ring buffer was full, as the kernel counted them
  std::uint64_t written = 0;    // rows (by count) in this profile
  std::uint64_t truncated = 0;  // samples with any LS_TRUNCATED flag
  Counts counters;
  StopSummary stops;
  TimeLedger time;

  // Returns all that files count by name: the counters, and the times of stops.
  std::map<std::string, std::uint64_t> named() const;
  void set_named(const std::string& name, std::uint64_t count);
};

// Bounds of Profile::remarks in a file: their number, and the bytes of each.
inline constexpr std::size_t kMostRemarks = 64;
inline constexpr std::size_t kLongestRemark = 4096;
// The same for Profile::blame_keys.
inline constexpr std::size_t kMostBlameKeys = 64;

// Profile::counted of everything that labelscope records.
inline constexpr std::string_view kSamples = "samples";

struct Profile {
  // What was recorded and how; all of it goes into every file that has a place for it.
  std::string tool_version;
  std::string event;  // "cpu-clock", "cycles"; for ptrace "cpu-time", "wall-clock"
  // what weights measure: at least one, at most kMostValueTypes
  std::vector<ValueType> values{value_of_kind(LS_ON_CPU)};
  // What SampleRow::count counts: samples, which are taken by chance; or what a pprof file of
  // another tool counts ("inuse_objects"), or "entries" if that counts nothing. If it is not
  // samples, the error of a number is unknown.
  std::string counted = std::string(kSamples);
  std::string backend;       // "bpf" or "ptrace"
  std::string call_graph;    // "fp", "dwarf" or "none"
  std::string command_line;  // command line of labelscope itself
  std::string kernel_release;
  std::uint64_t start_unix_ns = 0;
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t duration_ns = 0;
  // Why this is only a part of what was recorded, as clauses: "only samples with tenant=42". As
  // bytes.
  std::vector<std::string> remarks;
  std::uint64_t period_ns = 0;  // average time between two samples of a thread that runs

  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<ProfileModule> modules;
  Index program = kNoIndex;  // module of the (first) target's program, if known
  std::vector<Location> locations;
  std::vector<Stack> stacks;
  std::vector<LabelSet> label_sets;
  std::vector<SampleRow> rows;
  // Totals of waits, whose time the rows have, too. Empty if no waits were sampled, or if rows were
  // left out by what totals do not know.
  std::vector<WaitRow> waits;
  // Who made whom wait (blame.h), if that was recorded.
  bool has_blame = false;
  std::vector<BlameRow> blame;
  // If this is not empty, labels with other keys are not in `blame`: there were too many pairs.
  std::vector<std::string> blame_keys;
  std::string why_no_blame;  // if it was left out again; as words
  // How the time of each thread divides. Empty if no waits were sampled, or if rows were left out.
  ThreadLedgers thread_ledgers;
  Ledger ledger;
  std::vector<CappedLabel> capped;  // for messages: no file has it

  // Returns the number of a process, or of a thread's; 0 if it is not known.
  Pid pid_of(Index process) const {
    return process < processes.size() ? processes[process].pid : Pid{};
  }
  Pid pid_of(const Thread& thread) const { return pid_of(thread.process); }
  // Returns what the weights of all value types together measure, for outputs that show one number.
  ValueType whole_value() const;
  // Returns whether rows are of different kinds, so that each row's kind must be shown.
  bool has_kinds() const { return values.size() > 1; }
  std::size_t kind_count() const { return has_kinds() ? values.size() : 0; }
  bool counts_samples() const { return counted == kSamples; }
};

}  // namespace labelscope::cli
