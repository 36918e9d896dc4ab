// The options of record as they are typed.
#include "cli/options/record_options.h"

#include <algorithm>

#include "cli/format/common/row_labels.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

void declare_sampling(OptionList& list, RecordOptions& options) {
  list.group("Sampling");
  list.word("-d,--duration", "TIME", "How long (10, 500ms, 2m); default: until Ctrl-C or the end",
            options.duration, parse_duration);
  list.word("--backend", "auto|bpf|ptrace",
            "How: bpf stops nothing; ptrace stops each thread for a moment; auto is bpf, or "
            "ptrace where BPF cannot be used",
            options.backend, choice(kBackends), "auto");
  list.word("--mode", "cpu|offcpu|wall",
            "What: cpu (threads that run), offcpu (threads that wait; by BPF) or wall "
            "(both, which makes up all their time)",
            options.mode, choice(kModes), "cpu");
  list.word("--max-stop", "TIME", "ptrace: cut a stack that takes longer to unwind",
            options.max_stop, parse_duration, "5ms");
  list.word("-F,--frequency", "HZ",
            "Samples per second on each CPU, on average and at random times; with ptrace, of "
            "each thread (1 to 1000000)",
            options.frequency_hz, Count{1, 1'000'000}, "99");
  list.word("--event", "any|clock|cycles",
            "bpf: what samples threads that run: cycles (counted by the hardware), clock (a timer "
            "of the kernel), or any (cycles where they exist)",
            options.event, choice(kSampledEvents), "any");
  list.word("--call-graph", "fp|dwarf|none",
            "Stacks: dwarf (by call frame information; the default), fp (along frame pointers, by "
            "BPF) or none",
            options.call_graph, choice(kCallGraphs));
  list.flag("--no-kernel", "Leave kernel frames out", options.kernel_stacks, false);
  list.flag("--no-children", "Leave out processes that the target has forked or forks",
            options.follow_children, false);
  list.word("--max-processes", "N", "How many processes to follow at once (1 to 1048576)",
            options.max_processes, Count{1, 1 << 20}, "4096");
  list.word("--ring-size", "MIB",
            "bpf: size of the buffer between kernel and labelscope (1 to 1024; usually 2 to 8, by the "
            "rate)",
            options.ring_mib, Count{1, 1024});
  list.word("--max-unwind-mb", "MIB",
            "bpf, dwarf: memory for the call frame information of all programs (4 to 1024)",
            options.unwind_mib, Count{4, 1024}, "256");
  list.word("--unwind-cache", "DIR",
            "Keep call frame information of files there for the next recording (none: nowhere; "
            "default: ~/.cache/labelscope, of root /var/cache/labelscope)",
            options.unwind_cache, NotEmpty{"the folder"});
}

// Only the kernel's scheduler knows who wakes whom.
void choose_blame(RecordOptions& options) {
  if (options.blame.empty()) return;
  const std::string key = options.blame.front();
  if (!samples_waits(options.mode)) {
    refuse("--blame", key,
           "it says who made threads wait, and --mode cpu looks at none that waits: add --mode "
           "offcpu or --mode wall");
  }
  if (options.backend == Backend::kPtrace) {
    refuse("--blame", key, "it needs --backend bpf: ptrace does not see who wakes a thread");
  }
  options.backend = Backend::kBpf;
}

// Only perf events of BPF count either.
void choose_event(const OptionList& list, RecordOptions& options) {
  if (!list.given("--event")) return;
  const std::string event = name_of(kSampledEvents, options.event);
  if (!samples_running(options.mode)) {
    refuse("--event", event,
           "it is what samples threads that run, and --mode offcpu samples none of them");
  }
  if (options.backend == Backend::kPtrace) {
    refuse("--event", event, "it needs --backend bpf: ptrace samples by the CPU time of threads");
  }
  options.backend = Backend::kBpf;
}

void check_targets(const RecordOptions& options) {
  if (options.wanted.empty() && options.command.empty()) {
    refuse(
        "nothing to record: name a process with -p PID or -p NAME (--help shows more ways), or a "
        "program after --");
  }
  if (!options.wanted.empty() && !options.command.empty()) {
    refuse("processes that run (-p and the like) and a program after -- exclude each other");
  }
  const std::size_t named = options.wanted.processes.pids.size();
  if (named > options.max_processes) {
    refuse("--max-processes " + std::to_string(options.max_processes) + ": fewer than the " +
           std::to_string(named) + " processes named with -p");
  }
}

// If only one backend can do what the options ask for, that one is chosen.
void choose_backend(const OptionList& list, RecordOptions& options) {
  const Mode& mode = mode_of(options.mode);
  const bool ptrace_samples = !mode.by_ptrace.empty();
  const bool bpf_can = find_call_graph(Backend::kBpf, options.call_graph) != nullptr;
  const bool ptrace_can = find_call_graph(Backend::kPtrace, options.call_graph) != nullptr;
  const std::string call_graph =
      options.call_graph ? name_of(kCallGraphs, *options.call_graph) : std::string();
  if (options.backend == Backend::kBpf) {
    if (!bpf_can) {
      refuse("--call-graph " + call_graph + " needs --backend ptrace");
    }
    if (list.given("--max-stop")) {
      refuse("--max-stop has no meaning with --backend bpf: it stops nothing");
    }
    return;
  }
  if (options.backend == Backend::kAuto && bpf_can) {
    if (!ptrace_can || !ptrace_samples) options.backend = Backend::kBpf;
    return;
  }
  if (!ptrace_samples) {
    refuse("--mode " + std::string(mode.name) +
           " needs --backend bpf: only the kernel's scheduler knows when a thread waits");
  }
  if (!ptrace_can) {
    refuse("--call-graph " + call_graph +
           " needs --backend bpf: ptrace unwinds by call frame information (dwarf), "
           "or not at all (none)");
  }
  if (list.given("--ring-size")) {
    refuse("--ring-size has no meaning with --backend ptrace: there is no buffer in between");
  }
  options.backend = Backend::kPtrace;
}

}  // namespace

const CommandTexts RecordOptions::kTexts{
    .name = "record",
    .about = "Sample processes and write a profile with their labels",
    .usage =
        "labelscope record [OPTIONS] -p PID|NAME[,...]\n"
        "labelscope record [OPTIONS] --unit UNIT|--port PORT|--container ID|--cgroup PATH\n"
        "labelscope record [OPTIONS] -- CMD [ARG...]",
    .footer = R"(
Examples:
  labelscope record -p 4242 -d 10 --summary tenant
  labelscope record -p nginx -o profile.pb.gz -o stacks.folded
  labelscope record -o run.jsonl -- ./server --port 8080

Exit status: 0 ok, 1 runtime error, 2 usage, 3 no such process, 4 permission, 5 no sample taken,
6 with --strict: accounts of time differ; with -- CMD the command's own status. The manual:
man labelscope-record)",
    .takes_command = true,
    .records = true};

void RecordOptions::declare(OptionList& list) {
  list.group("Targets (or a program after --)");
  wanted.declare(list, "Processes to record");
  declare_sampling(list, *this);
  unpublished.declare(list);
  list.group("Names");
  function_names.declare(list, "");
  OutputOptions::declare(list, "labelscope-NAME-PID-TIME.pb.gz and .html");
  declare_where(list, where);
  declare_drop_to(list, drop_to);
  list.flag("--strict", "Exit with status 6 if two accounts of the recorded time differ", strict);
  list.flag("--end-command",
            "End the program after -- when the recording is over (SIGTERM, after 5 s SIGKILL)",
            end_command);
  messages.declare(list);
}

void RecordOptions::check(const OptionList& list, const CommandTail& tail) {
  command = tail.command;
  command_line = tail.command_line;
  check_targets(*this);
  if (end_command && command.empty()) refuse("--end-command has a meaning with a program after --");
  unpublished.check();
  caps.insert(unpublished.preset_caps.begin(), unpublished.preset_caps.end());
  OutputOptions::check();
  choose_backend(list, *this);
  choose_blame(*this);
  choose_event(list, *this);
  if (call_graph == LS_CALL_GRAPH_NONE) {
    kernel_stacks = false;
    const std::string function(kFunctionKey);
    if (std::find(summary.begin(), summary.end(), function) != summary.end()) {
      refuse("--summary", function, "--call-graph none takes no stacks, and so knows no function");
    }
  }
  messages.check(list);
}

}  // namespace labelscope::cli
