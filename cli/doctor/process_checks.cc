// What a recording would have of one process. Each question goes to the function that record asks.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "cli/doctor/checkup.h"
#include "cli/inspect/unwind_report.h"
#include "cli/preset/preset_offer.h"
#include "cli/process/frozen_group.h"
#include "cli/profile/perf_maps.h"
#include "cli/profile/process_root.h"
#include "cli/record/messages.h"
#include "cli/symbol/debug_files.h"
#include "cli/symbol/file_namer.h"
#include "cli/text/escape.h"
#include "labelscope/inspect.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

class ProcessCheck {
 public:
  ProcessCheck(const LiveProcess& process, Checkup& checkup)
      : process_(process), pid_(process.pid()), checkup_(checkup) {}

  void add(CheckupVerdict verdict, const char* name, std::string found, std::string fix = {}) {
    checkup_.lines.push_back({verdict, name, std::move(found), std::move(fix), pid_});
  }

  void labels(const TrackedProcess& tracked) {
    const ProcessPlan& plan = tracked.plan();
    if (!plan.publishers.empty()) {
      add(plan.refusals.empty() ? kFine : kLimited, "labels", describe_labels(tracked),
          plan.refusals.empty() ? "" : "labelscope dump --explain shows each step");
      return;
    }
    const std::string offer = offer_presets({&pid_, 1});
    add(kLimited, "labels", describe_labels(tracked),
        offer.empty() ? "man labelscope-record, LABELS: a writer in the program, --variable, or a "
                        "label of the process"
                      : offer);
  }

  // A tracer can hold the process, and no second one may stop its threads.
  void tracer(Backend backend) {
    const auto status = process_.read_proc("status");
    if (!status) return;
    const std::string_view tracer = status_field(*status, "TracerPid");
    if (tracer.empty() || tracer == "0") {
      add(kFine, "tracer", "nobody traces it");
    } else {
      add(backend == Backend::kPtrace ? kLimited : kFine, "tracer",
          "process " + escape_terminal(tracer) + " traces it",
          "end the tracer, or use --backend bpf");
    }
    const std::string_view state = status_field(*status, "State");
    if (state.starts_with('T') || state.starts_with('t')) {
      add(kLimited, "state", "it is stopped, so there will be no sample",
          "kill -CONT " + std::to_string(raw(pid_)));
    } else if (const auto frozen = frozen_group_of(pid_)) {
      add(kLimited, "state", "its control group is frozen, so there will be no sample",
          frozen->folder.empty() ? "docker unpause, or thaw it as it was frozen"
                                 : escape_terminal(frozen->thaw()));
    }
  }

  void program() {
    const auto mappings = process_.mappings();
    if (!mappings) return;
    const auto path = process_.proc_path("exe");
    std::array<char, PATH_MAX> target;
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    const std::string name(target.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
    const auto own = std::ranges::find_if(*mappings, [&](const Mapping& mapping) {
      return mapping.executable && mapping.path == name;
    });
    if (own != mappings->end()) {
      stacks(*own);
      names(*own);
    }
    const bool makes_code = std::ranges::any_of(*mappings, [](const Mapping& mapping) {
      return mapping.executable && mapping.path.empty() && !mapping.file;
    });
    if (makes_code) perf_map();
  }

  void namespaces() {
    if (process_.number_inside(Tid{raw(pid_)}) == Tid{raw(pid_)}) return;
    add(kFine, "namespace",
        "it runs in a pid namespace of its own, where it is process " +
            std::to_string(raw(process_.number_inside(Tid{raw(pid_)}))));
  }

 private:
  void stacks(const Mapping& mapping) {
    auto file = process_.open_file(mapping);
    if (!file) {
      add(kLimited, "stacks",
          "its program cannot be opened: " + escape_terminal(file.error().context));
      return;
    }
    TableWorker tables;
    FileNamer namer({});
    const UnwindReport report = report_unwinding(mapping.path, *std::move(file), tables, namer);
    if (report.is_whole()) {
      add(kFine, "stacks", "stacks lead through all code of " + escape_terminal(mapping.path));
      return;
    }
    add(kLimited, "stacks",
        report.problem.empty() ? "some stacks end in " + std::to_string(report.broken_bytes) +
                                     " bytes of code of " + escape_terminal(mapping.path)
                               : escape_terminal(report.problem),
        "labelscope inspect --unwind " + escape_terminal(mapping.path) + " shows which code");
  }

  void names(const Mapping& mapping) {
    auto file = process_.open_file(mapping);
    auto again = process_.open_file(mapping);
    if (!file || !again) return;
    const auto seen = inspect_file(*std::move(again), mapping.path);
    if (!seen || seen->has_symtab) {
      if (seen) add(kFine, "names", escape_terminal(mapping.path) + " has a symbol table");
      return;
    }
    DebugFiles debug({}, {});
    WantedDebugFile wanted;
    wanted.build_id = seen->build_id;
    const auto root = ProcessRoots().of(process_);
    const auto found = debug.find(wanted, mapping.path, *file, root.get());
    if (found.file.valid()) {
      add(kFine, "names", "its names are in " + escape_terminal(found.text));
      return;
    }
    add(kLimited, "names",
        escape_terminal(mapping.path) + " is stripped: only exported functions have names",
        escape_terminal(debug.remedy(seen->build_id, mapping.path, *file, root.get())));
  }

  void perf_map() {
    PerfMaps maps;
    maps.note(pid_);
    const PerfMaps::MapFile found = maps.find(pid_);
    if (found.problem.empty()) {
      add(kFine, "perf-map", "code that it makes itself has names in a perf map");
    } else {
      add(kLimited, "perf-map", "code that it makes itself has no names",
          escape_terminal(found.problem));
    }
  }

  const LiveProcess& process_;
  Pid pid_;
  Checkup& checkup_;
};

}  // namespace

void check_process(Pid pid, const Recorder& recorder, Backend backend, Checkup& checkup) {
  const auto process = LiveProcess::open(pid);
  const TrackedProcess* tracked = recorder.current(pid);
  if (!process || tracked == nullptr) return;
  ProcessCheck check(**process, checkup);
  check.add(kFine, "access", "it may be read");
  check.labels(*tracked);
  check.tracer(backend);
  check.program();
  check.namespaces();
}

}  // namespace labelscope::cli
