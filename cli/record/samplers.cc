// Samples by BPF if it is available, because it stops nothing; otherwise by ptrace.
#include "cli/record/samplers.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "bpf/load/kernel.h"
#include "bpf/sampling/perf_event.h"
#include "bpf/sampling/sampler.h"
#include "cli/host/rights.h"
#include "cli/host/signals.h"
#include "cli/record/privileges.h"
#include "labelscope/saved_pointer.h"
#include "sampling/ptrace_sampler.h"

namespace labelscope::cli {
namespace {

// All of the buffer is memory that is taken at once. It has room for a second of samples of all
// processors, and for some thousand forks; events of the scheduler have no rate.
std::size_t ring_bytes(const SessionOptions& options) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::size_t kLargeSample = 1024;
  constexpr std::size_t kLeast = 2 * kMiB;
  constexpr std::size_t kMost = 8 * kMiB;
  if (options.ring_mib != 0) return options.ring_mib * kMiB;
  if (samples_waits(options.mode)) return kMost;
  const auto processors = static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return std::bit_ceil(std::clamp(options.frequency_hz * processors * kLargeSample, kLeast, kMost));
}

// Returns why the tables of this recording are not kept for the next one; nothing if they are. Root
// needs rights for that which it gives up later.
std::string keep_tables(const SessionOptions& options, TableWorker& tables) {
  if (options.unwind_cache == "none") return "--unwind-cache none";
  if (options.drop_to) return "with --drop-to the folder could not be used";
  const std::string folder =
      options.unwind_cache.empty() ? TableCache::usual_folder() : options.unwind_cache;
  if (folder.empty()) return "there is no HOME";
  const UsersOwnRights own;
  auto cache = TableCache::open(folder);
  if (!cache) return std::move(cache).error().context;
  tables.keep_in(*std::move(cache));
  return {};
}

SamplerOptions bpf_options(const SessionOptions& options, const WantedLabels& labels,
                           const Targets& targets) {
  SamplerOptions sampling;
  sampling.mode = options.mode;
  sampling.blames = !labels.blame.empty();
  sampling.blame_keys = options.kept_for_blame(labels);
  sampling.left_out_keys = labels.rules.deny;
  if (!labels.rules.allow.empty()) {
    sampling.kept_keys = labels.rules.allow;
    sampling.kept_keys.insert(sampling.kept_keys.end(), labels.rules.hash.begin(),
                              labels.rules.hash.end());
  }
  sampling.frequency_hz = options.frequency_hz;
  sampling.event = options.event;
  sampling.call_graph = find_call_graph(Backend::kBpf, options.call_graph)->value;
  sampling.kernel_stacks = options.kernel_stacks;
  sampling.follow_children = targets.admits_children();
  sampling.max_processes = options.max_processes;
  // Two presets may fit one process.
  sampling.presets = !options.unpublished.presets.empty();
  if (sampling.presets) sampling.max_preset_programs = 2 * options.max_processes;
  sampling.ring_bytes = ring_bytes(options);
  sampling.unwind_bytes = std::size_t{options.unwind_mib} << 20;
  if (!targets.is_command()) sampling.first_processes = targets.first();
  return sampling;
}

Result<OpenedSampler> open_bpf(const SessionOptions& options, const WantedLabels& labels,
                               const Targets& targets) {
  SamplerOptions sampling = bpf_options(options, labels, targets);
  const CallGraph* call_graph = find_call_graph(Backend::kBpf, options.call_graph);
  OpenedSampler opened;
  std::shared_ptr<TableWorker> tables;
  if (sampling.call_graph == LS_CALL_GRAPH_DWARF) {
    tables = std::make_shared<TableWorker>();
    opened.why_no_cache = keep_tables(options, *tables);
    sampling.build_table = [tables](UniqueFd file) { return tables->build(std::move(file)); };
  }
  auto sampler = BpfSampler::open(sampling);
  std::string why_not_dwarf;
  if (!sampler && sampling.call_graph == LS_CALL_GRAPH_DWARF) {
    why_not_dwarf = sampler.error().context;
    call_graph = find_call_graph(Backend::kBpf, LS_CALL_GRAPH_FP);
    sampling.call_graph = call_graph->value;
    sampler = BpfSampler::open(sampling);
  }
  if (!sampler) return std::move(sampler).error();
  if (why_not_dwarf.empty()) opened.tables = std::move(tables);
  opened.backend = Backend::kBpf;
  opened.call_graph = call_graph;
  opened.remark = (*sampler)->retries()
                      ? "Reads of label memory that is not resident are repeated"
                      : "Reads of label memory that is not resident are not repeated: " +
                            std::string((*sampler)->retry_problem());
  opened.remark_warns = (*sampler)->retries_refused();
  if (!why_not_dwarf.empty()) {
    opened.remark =
        "Stacks are taken along frame pointers, because the programs that unwind by call "
        "frame information do not load: " +
        why_not_dwarf;
    opened.remark_warns = true;
  }
  if (const std::string danger = danger_of_reading_programs(); !danger.empty()) {
    opened.remark = opened.remark_warns ? danger + ". " + opened.remark : danger;
    opened.remark_warns = true;
  }
  opened.sampler = *std::move(sampler);
  return opened;
}

// Whether `--backend bpf` with the same options would record, as far as that can be known without
// loading all of the programs.
bool bpf_would_do(const SessionOptions& options, const Targets& targets) {
  if (samples_waits(options.mode) && !retrying_sampler(true)) return false;
  return !missing_for_bpf(targets) && check_frequency(options.frequency_hz) && can_load_programs();
}

Result<OpenedSampler> open_ptrace(const SessionOptions& options, const Targets& targets) {
  if (auto missing = missing_for_ptrace(targets)) {
    return Error{ErrorCode::kPermission, missing->message};
  }
  PtraceSamplerOptions sampling;
  sampling.mode = options.mode;
  sampling.frequency_hz = options.frequency_hz;
  const CallGraph* call_graph = find_call_graph(Backend::kPtrace, options.call_graph);
  sampling.stacks = call_graph->value != LS_CALL_GRAPH_NONE;
  sampling.follow_children = targets.admits_children();
  sampling.max_processes = options.max_processes;
  sampling.max_stop = options.max_stop;
  OpenedSampler opened;
  std::shared_ptr<TableWorker> tables;
  if (sampling.stacks) {
    tables = std::make_shared<TableWorker>();
    opened.why_no_cache = keep_tables(options, *tables);
    // The ptrace sampler builds tables itself, and no signal is handled meanwhile. So building
    // looks for Ctrl-C.
    tables->set_unwanted(Signals::stop_is_pending);
    sampling.build_table = [tables](UniqueFd file) { return tables->build(std::move(file)); };
  }
  auto sampler = open_ptrace_sampler(sampling);
  if (!sampler) return std::move(sampler).error();
  opened.tables = std::move(tables);
  opened.backend = Backend::kPtrace;
  opened.call_graph = call_graph;
  opened.sampler = *std::move(sampler);
  return opened;
}

}  // namespace

bool calls_for_ptrace(const Error& of_bpf) {
  return of_bpf.code == ErrorCode::kPermission || of_bpf.code == ErrorCode::kUnsupported ||
         of_bpf.code == ErrorCode::kLimit;
}

Result<OpenedSampler> open_sampler(const SessionOptions& options, const WantedLabels& labels,
                                   const Targets& targets) {
  if (options.backend == Backend::kPtrace) {
    auto opened = open_ptrace(options, targets);
    if (!opened) return opened;
    opened->bpf_would_do = bpf_would_do(options, targets);
    return opened;
  }
  std::string why_not;
  std::string message;
  if (const auto missing = missing_for_bpf(targets)) {
    why_not = "permission is missing: " + missing->names;
    message = missing->message;
  }
  if (why_not.empty()) {
    // A wrong number is an error. It must not lead to ptrace, which would stop threads that often.
    if (Status status = check_frequency(options.frequency_hz); !status) {
      return std::move(status).error();
    }
    auto opened = open_bpf(options, labels, targets);
    if (opened) return opened;
    if (options.backend == Backend::kBpf && samples_waits(options.mode) &&
        opened.error().code == ErrorCode::kUnsupported) {
      return Error{
          ErrorCode::kUnsupported,
          opened.error().context +
              ": --mode wall --backend ptrace samples threads that wait, by stopping them"};
    }
    if (options.backend == Backend::kBpf && options.event == SampledEvent::kCycles &&
        opened.error().code == ErrorCode::kUnsupported) {
      return Error{ErrorCode::kUnsupported,
                   opened.error().context + "\n  fix      --event clock, or leave --event out"};
    }
    if (options.backend == Backend::kBpf) return opened;
    if (!calls_for_ptrace(opened.error())) {
      return Error{
          opened.error().code,
          "cannot sample by BPF: " + opened.error().context +
              "\n  fix      report it; --backend ptrace records meanwhile, by stopping threads"};
    }
    why_not = opened.error().context;
  } else if (options.backend == Backend::kBpf) {
    return Error{ErrorCode::kPermission, message};
  }
  auto opened = open_ptrace(options, targets);
  if (opened) {
    opened->why_not_bpf = why_not;
    return opened;
  }
  // Neither is possible. What BPF needs would be enough for both.
  return message.empty() ? std::move(opened) : Error{ErrorCode::kPermission, message};
}

unsigned remaining_work(const OpenedSampler& opened, const SessionOptions& options,
                        const Targets& targets) {
  unsigned work = kReadsTargets | kStartsWorkers | targets.remaining_work();
  const bool bpf = opened.backend == Backend::kBpf;
  if (!bpf || kSavedPointerLags) work |= kStopsThreads;
  if (bpf && options.kernel_stacks) work |= kNamesKernel;
  const bool uses_maps = opened.call_graph->makes_maps || map_access_needs_capability();
  if (bpf && uses_maps) work |= kUsesBpfMaps;
  return work;
}

std::string fallback_text(const std::string& why_not_bpf) {
  return "BPF cannot be had (" + why_not_bpf +
         "): sampling by stopping threads (--backend ptrace). Each sample stops its thread for a "
         "moment, system calls that wait may be interrupted, and child processes that live shorter "
         "than 0.1 s are missed";
}

}  // namespace labelscope::cli
