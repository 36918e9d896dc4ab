#include "cli/options/record_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/format/escape.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

constexpr const char* kRecordFooter = R"(
Examples:
  labelscope record -p 4242 -d 10 --summary tenant
  labelscope record -p 4242 -o profile.pb.gz -o stacks.folded
  labelscope record -o run.jsonl -- ./server --port 8080

Exit status: 0 ok, 1 runtime error, 2 usage, 3 no such process, 4 permission, 5 no sample taken;
with -- CMD the command's own status. The manual: man labelscope-record)";

}  // namespace

const char* RecordParser::usage() const {
  return "labelscope record [OPTIONS] -p PID[,PID]\n       labelscope record [OPTIONS] -- CMD "
         "[ARG...]";
}

void RecordParser::add_to(CLI::App& app) {
  record_ = app.add_subcommand(name(), "Sample processes and write a profile with their labels");
  record_->footer(kRecordFooter);
  const char* target = "Target (one of)";
  record_->add_option("-p,--pid", pids_, "Processes to record, by ID")
      ->type_name("PID[,PID]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(target);
  const char* sampling = "Sampling";
  record_
      ->add_option("-d,--duration", duration_,
                   "How long (10, 500ms, 2m); default: until Ctrl-C or the end")
      ->type_name("TIME")
      ->group(sampling);
  record_
      ->add_option("--backend", backend_,
                   "How: bpf stops nothing; ptrace stops each thread for a moment; auto is bpf, or "
                   "ptrace where BPF cannot be used")
      ->type_name("auto|bpf|ptrace")
      ->capture_default_str()
      ->group(sampling);
  record_
      ->add_option("--mode", mode_, "What: cpu (threads that run) or wall (all threads; by ptrace)")
      ->type_name("cpu|wall")
      ->capture_default_str()
      ->group(sampling);
  record_->add_option("--max-stop", max_stop_, "ptrace: cut a stack that takes longer to unwind")
      ->type_name("TIME")
      ->capture_default_str()
      ->group(sampling);
  record_
      ->add_option(
          "-F,--frequency", frequency_,
          "Samples per second on each CPU, on average and at random times; with ptrace, of "
          "each thread")
      ->type_name("HZ")
      ->capture_default_str()
      ->group(sampling);
  record_
      ->add_option("--call-graph", call_graph_,
                   "Stacks: fp (frame pointers, by BPF), dwarf (call frame information, by ptrace) "
                   "or none; default: what the backend has")
      ->type_name("fp|dwarf|none")
      ->group(sampling);
  record_->add_flag("--no-kernel", no_kernel_, "Leave kernel frames out")->group(sampling);
  record_
      ->add_flag("--no-children", no_children_,
                 "Leave out processes that the target has forked or forks")
      ->group(sampling);
  record_->add_option("--max-processes", max_processes_, "How many processes to follow at once")
      ->type_name("N")
      ->capture_default_str()
      ->group(sampling);
  record_
      ->add_option("--ring-size", ring_mib_,
                   "bpf: size of the buffer between kernel and labelscope")
      ->type_name("MIB")
      ->capture_default_str()
      ->group(sampling);
  const char* output = "Output";
  record_
      ->add_option(
          "-o,--output", outputs_,
          "File to write, - for stdout (repeatable); default: labelscope-NAME-PID-TIME.pb.gz")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(output);
  record_
      ->add_option("-f,--format", format_,
                   "pprof, folded or jsonl; default: by the file's extension")
      ->type_name("FORMAT")
      ->group(output);
  record_->add_flag("--overwrite", overwrite_, "Replace files that exist")->group(output);
  record_
      ->add_option("--group-by", group_by_,
                   "Labels whose values become the root frames of stacks (repeatable)")
      ->type_name("KEY[,KEY]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(output);
  record_
      ->add_option("--summary", summary_,
                   "Print shares of time by value of these labels (repeatable)")
      ->type_name("KEY[,KEY]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(output);
  record_->add_flag("--json", json_, "With --summary: a line of JSON for each label")
      ->group(output);
  messages_.add_to(*record_);
}

bool RecordParser::given(const char* option) const {
  return record_->get_option(option)->count() > 0;  // an empty argument is an argument too
}

void RecordParser::check_sampling(RecordOptions& options) const {
  const bool bpf_can = find_call_graph(Backend::kBpf, call_graph_) != nullptr;
  const bool ptrace_can = find_call_graph(Backend::kPtrace, call_graph_) != nullptr;
  if (given("--call-graph") && (call_graph_.empty() || (!bpf_can && !ptrace_can))) {
    refuse("--call-graph " + escape_terminal(call_graph_) +
           ": unknown; fp, dwarf and none are known");
  }
  if (mode_ != "cpu" && mode_ != "wall") {
    refuse("--mode " + escape_terminal(mode_) + ": unknown; cpu and wall are known");
  }
  const Backend backend = parse_backend(backend_);
  options.mode = mode_ == "wall" ? SampleMode::kWall : SampleMode::kCpu;
  options.call_graph = call_graph_;
  options.max_stop = parse_duration("--max-stop", max_stop_);
  if (backend == Backend::kBpf) {
    if (mode_ == "wall") {
      refuse("--mode wall needs --backend ptrace: BPF sees only threads that run");
    }
    if (!bpf_can) {
      refuse("--call-graph " + call_graph_ +
             " needs --backend ptrace: BPF follows frame pointers (fp)");
    }
    if (given("--max-stop"))
      refuse("--max-stop has no meaning with --backend bpf: it stops nothing");
    options.backend = Backend::kBpf;
    return;
  }
  // What only one of them can do chooses it.
  if (backend == Backend::kAuto && mode_ == "cpu" && bpf_can) {
    options.backend = ptrace_can ? Backend::kAuto : Backend::kBpf;
    return;
  }
  if (!ptrace_can) {
    refuse("--call-graph " + call_graph_ +
           " needs --backend bpf and --mode cpu: ptrace unwinds by call frame information (dwarf), "
           "or not at all (none)");
  }
  if (given("--ring-size")) {
    refuse("--ring-size has no meaning with --backend ptrace: there is no buffer in between");
  }
  options.backend = Backend::kPtrace;
}

Options RecordParser::checked(const CommandTail& tail) const {
  RecordOptions options;
  options.command = tail.command;
  options.command_line = tail.command_line;
  options.outputs = outputs_;
  options.overwrite = overwrite_;
  options.pids = parse_pids(pids_);
  if (options.pids.empty() && options.command.empty()) {
    refuse("nothing to record: name a process with -p PID, or a program after --");
  }
  if (!options.pids.empty() && !options.command.empty()) {
    refuse("-p and a program after -- exclude each other");
  }
  if (given("--duration")) options.duration = parse_duration("--duration", duration_);
  options.frequency_hz = parse_count("--frequency", frequency_, 1, 1'000'000);
  options.max_processes = parse_count("--max-processes", max_processes_, 1, 1 << 20);
  if (options.pids.size() > options.max_processes) {
    refuse("--max-processes " + max_processes_ + ": fewer than the " +
           std::to_string(options.pids.size()) + " processes named with -p");
  }
  options.ring_mib = parse_count("--ring-size", ring_mib_, 1, 1024);
  if (given("--format")) {
    options.format = format_from_name(format_);
    if (!options.format) {
      refuse("--format " + escape_terminal(format_) +
             ": unknown; pprof, folded and jsonl are known");
    }
  }
  for (const std::string& path : options.outputs) {
    if (path.empty()) refuse("--output: the file name is empty");
    if (path == "-") continue;
    const auto by_name = format_from_path(path);
    if (!options.format && path.ends_with(".pb")) {
      refuse("--output " + escape_terminal(path) + ": pprof is written compressed: name it " +
             escape_terminal(path) + ".gz, or say -f pprof");
    }
    if (!options.format && !by_name) {
      refuse("--output " + escape_terminal(path) +
             ": its extension names no format (.pb.gz, .folded, .jsonl); give one with -f");
    }
    if (options.format && by_name && *by_name != *options.format) {
      refuse("--output " + escape_terminal(path) + ": its extension names the format " +
             std::string(format_name(*by_name)) + ", and -f says " +
             std::string(format_name(*options.format)) + "; leave one of them out");
    }
  }
  if (std::count(options.outputs.begin(), options.outputs.end(), "-") > 1) {
    refuse("--output -: stdout can take one file only");
  }
  check_sampling(options);
  options.kernel_stacks = call_graph_ != "none" && !no_kernel_;
  options.follow_children = !no_children_;
  if (given("--group-by")) options.group_by = parse_keys("--group-by", group_by_);
  if (given("--summary")) options.summary = parse_keys("--summary", summary_);
  if (json_ && options.summary.empty()) refuse("--json has a meaning with --summary only");
  options.json = json_;
  options.messages = messages_.checked();
  return options;
}

}  // namespace labelscope::cli
