// `labelscope dump`, from top to bottom: reads each process by ptrace or BPF, renders it, and
// reports how it went.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "cli/commands.h"
#include "cli/dump/formats.h"
#include "cli/dump/take_dump.h"
#include "cli/dump/wording.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/host/stop_guardian.h"
#include "cli/host/terminal.h"
#include "cli/host/watchdog.h"
#include "cli/preset/preset_offer.h"
#include "cli/process/find_processes.h"
#include "cli/record/privileges.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "cli/unwind/missing_tables.h"

namespace labelscope::cli {
namespace {

// Notes those that are not missing in this process.
template <class Missing>
void note_found(const std::vector<Missing>& missing, std::vector<bool>& found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = found[i] ||
               std::ranges::none_of(missing, [&](const Missing& one) { return one.index == i; });
  }
}

std::string threads_text(std::uint64_t count) {
  return with_thousands(count) + (count == 1 ? " thread" : " threads");
}

class Dumping {
 public:
  explicit Dumping(const DumpOptions& options)
      : options_(options),
        progress_(options.messages.progress),
        namer_({.debug_folders = options.function_names.debug_folders,
                .debug_information = options.function_names.debug_information}),
        process_labels_(options.unpublished.of_process) {
    symbolizing_.progress = [this](std::size_t done, std::size_t all) {
      progress_.working("Naming addresses:", done, all);
    };
    symbolizing_.cancelled = [] {
      Precedence::own().give_back_after(kMostNamingFirst);
      return false;
    };
    style_.color = use_color(options.messages.color, STDOUT_FILENO);
    style_.width = terminal_width(STDOUT_FILENO);
  }

  int run();

 private:
  int dump_all();
  bool has_named_nowhere() const;
  int dump_live(Pid pid);
  Result<ProcessDump> without_stops(Pid pid) const;
  void warn_of_running_threads(const ProcessDump& dump) const;
  int dump_dead();
  void read_late_threads(ProcessDump& dump);
  int show_live(ProcessDump& dump);
  int show(const ProcessDump& dump);

  const DumpOptions& options_;
  Progress progress_;
  FileNamer namer_;
  ProcessLabelReader process_labels_;
  SymbolizerOptions symbolizing_;
  DumpStyle style_;
  std::vector<Pid> pids_;
  bool shown_any_ = false;
  // Variables and presets that some process had.
  std::vector<bool> found_;
  std::vector<bool> presets_found_;
};

// What was asked for was not read, and who runs a script does not see the warning.
bool Dumping::has_named_nowhere() const {
  if (!shown_any_) return false;
  const auto lacks = [](const std::vector<bool>& found) {
    return std::find(found.begin(), found.end(), false) != found.end();
  };
  if (lacks(found_)) return true;
  return options_.unpublished.any_preset
             ? std::find(presets_found_.begin(), presets_found_.end(), true) == presets_found_.end()
             : lacks(presets_found_);
}

int Dumping::run() {
  found_.resize(options_.unpublished.variables.size());
  presets_found_.resize(options_.unpublished.presets.size());
  const int status = dump_all();
  return status == kExitOk && has_named_nowhere() ? kExitRuntimeError : status;
}

int Dumping::dump_all() {
  raise_file_limit();
  // Rights are still whole: who listens on a port is seen in the open files of processes.
  auto found = [this] {
    const Watchdog watch(end_with(kExitRuntimeError));
    return named_processes(options_.wanted.processes.pids, options_.wanted.names(), log::info);
  }();
  if (!found) {
    log::error(found.error().context);
    return status_of(found.error());
  }
  pids_ = *std::move(found);
  unsigned work = kReadsTargets | kStartsWorkers;
  // A core file, and what it names, is read with the rights of the user who names it.
  if (!options_.core.empty()) work = has_lent_rights() ? 0U : kReadsFiles | kStartsWorkers;
  // Whether ptrace may read a process is only known after trying.
  if (options_.core.empty() && options_.backend != Backend::kPtrace) work |= kLoadsBpf;
  if (options_.core.empty() && options_.backend != Backend::kBpf) work |= kStopsThreads;
  if (Status given_up = drop_rights(work, options_.drop_to); !given_up) {
    log::error(given_up.error().context);
    return status_of(given_up.error());
  }
  StopGuardian guardian;
  if ((work & kStopsThreads) != 0) guardian.start();
  // A thread that is held when labelscope ends goes on.
  const Watchdog watch(end_with(kExitRuntimeError));
  if (!options_.core.empty()) return dump_dead();
  int status = kExitOk;
  bool ended = false;
  const std::vector<Pid>& by_id = options_.wanted.processes.pids;
  for (Pid pid : pids_) {
    const int one = dump_live(pid);
    // One that a word has found may have ended since. The others are an answer without it.
    if (one == kExitNoTarget && std::ranges::find(by_id, pid) == by_id.end()) {
      ended = true;
    } else if (status == kExitOk) {
      status = one;
    }
  }
  if (ended && status == kExitOk && !shown_any_) status = kExitNoTarget;
  for (const std::string& line : process_labels_.problems()) log::warning(escape_terminal(line));
  return status;
}

int Dumping::dump_live(Pid pid) {
  const std::string number = std::to_string(raw(pid));
  auto fail = [pid](const Error& error, const std::string& message) {
    const bool refused = error.code == ErrorCode::kPermission;
    log::error(message + (refused ? "\n  doctor   " + doctor_text(pid) : ""));
    return status_of(error);
  };
  Result<ProcessDump> dump = without_stops(pid);
  if (dump) {
    warn_of_running_threads(*dump);
    return show_live(*dump);
  }
  if (options_.backend != Backend::kBpf) {
    dump = dump_by_ptrace(pid, options_, namer_, symbolizing_);
    if (dump) {
      read_late_threads(*dump);
      return show_live(*dump);
    }
  }
  const Error first = dump.error();
  const std::string reason = escape_terminal(first.context);
  if (is_gone(first)) return fail(first, reason);
  if (options_.backend != Backend::kAuto || first.code != ErrorCode::kPermission) {
    return fail(first, "cannot look into process " + number + ": " + reason);
  }

  dump = dump_by_bpf(pid, options_, /*stops_running=*/false);
  if (!dump) {
    // If /proc shows the process, it is not gone: iterators may not see it.
    const bool gone = is_gone(dump.error()) && !LiveProcess::open(pid);
    if (gone) return fail(dump.error(), escape_terminal(dump.error().context));
    return fail(first, "cannot look into process " + number + " in either way\n  ptrace   " +
                           reason + "\n  bpf      " + escape_terminal(dump.error().context));
  }
  dump->refusal = first.context;
  log::warning("ptrace is refused, so process " + number + " is read by BPF (" + reason + ")");
  if (options_.stacks) log::warning("there are no stacks: BPF stops no thread to unwind it");
  return show_live(*dump);
}

// A stop interrupts some system calls for good (signal(7)), and programs fail over that. So BPF
// comes first where it reads the same: a stack can only be unwound, and memory only be explained,
// while the thread is held.
Result<ProcessDump> Dumping::without_stops(Pid pid) const {
  if (options_.backend == Backend::kBpf) return dump_by_bpf(pid, options_, false);
  if (options_.backend == Backend::kPtrace || options_.stacks || options_.explain) {
    return Error{ErrorCode::kUnsupported, "threads must be stopped for this"};
  }
  return dump_by_bpf(pid, options_, true);
}

void Dumping::warn_of_running_threads(const ProcessDump& dump) const {
  if (dump.refusal.empty()) return;
  log::warning(
      "ptrace is refused, so threads that ran while they were read could not be stopped (" +
      escape_terminal(dump.refusal) + ")");
}

// Some threads did not stop for ptrace in time. Reads them by BPF if the user wants that and the
// kernel allows it. Counts those that stay unread.
void Dumping::read_late_threads(ProcessDump& dump) {
  const LateThreads before = late_threads(dump.snapshot);
  if (before.all() == 0) return;
  std::string why_not;
  if (options_.backend == Backend::kAuto) {
    if (Status read = read_late_by_bpf(dump, options_); !read) {
      why_not = " (it cannot here: " + escape_terminal(read.error().context) + ")";
    } else {
      log::warning(threads_text(dump.late_by_bpf) + " " + before.what_they_do() +
                   "; read by BPF instead, which stops none" +
                   (options_.stacks ? " and takes no stacks" : ""));
    }
  }
  const LateThreads left = late_threads(dump.snapshot);
  if (left.all() != 0) {
    log::warning(threads_text(left.all()) + " could not be read: " +
                 (left.waiting_for_processor != 0 ? "too many threads can run, " : "") + "these " +
                 left.what_they_do() + ". --backend bpf reads them without stopping them" +
                 why_not);
  }
}

int Dumping::dump_dead() {
  auto dump = dump_core(options_, namer_, symbolizing_);
  if (dump) return show(*dump);
  const Error& error = dump.error();
  log::error("cannot read the core file: " + escape_terminal(error.context));
  return status_of(error);
}

int Dumping::show_live(ProcessDump& dump) {
  if (auto process = LiveProcess::open(dump.snapshot.pid)) {
    dump.process_labels = process_labels_.read(**process);
  } else {
    process_labels_.note_gone();
  }
  return show(dump);
}

int Dumping::show(const ProcessDump& dump) {
  progress_.clear();
  if (shown_any_ && !options_.json) std::cout << '\n';
  shown_any_ = true;
  errno = 0;
  const Status shown = options_.json ? render_dump_json(dump, LABELSCOPE_VERSION, std::cout)
                                     : render_dump_text(dump, style_, std::cout);
  if (!shown) {
    log::error(cannot_write("stdout", errno));
    return kExitRuntimeError;
  }
  const std::string whose = pids_.size() > 1 ? std::to_string(raw(dump.snapshot.pid)) + ": " : "";
  const LabelOptions& wanted = options_.unpublished;
  for (const MissingVariable& missing : dump.snapshot.plan.missing) {
    log::warning(whose + escape_terminal(wanted.missing_text(missing)));
  }
  if (!wanted.any_preset) {
    for (const MissingPreset& missing : dump.snapshot.plan.missing_presets) {
      log::warning(whose + escape_terminal(wanted.missing_text(missing)));
    }
  } else if (dump.snapshot.plan.missing_presets.size() == wanted.presets.size()) {
    log::warning(whose + "--preset auto: " + escape_terminal(wanted.no_preset_text()));
  }
  const bool nothing_named = wanted.presets.empty() && wanted.variables.empty();
  if (dump.snapshot.plan.publishers.empty() && nothing_named && !dump.core && !options_.json) {
    const Pid pid = dump.snapshot.pid;
    const std::string offer = offer_presets(std::span(&pid, 1));
    if (!offer.empty()) log::info(whose + offer);
  }
  note_found(dump.snapshot.plan.missing, found_);
  note_found(dump.snapshot.plan.missing_presets, presets_found_);
  warn_of_missing_tables(dump.without_table);
  log::info(whose + totals_line(dump.snapshot));
  return kExitOk;
}

}  // namespace

int run(const DumpOptions& options) { return Dumping(options).run(); }

}  // namespace labelscope::cli
