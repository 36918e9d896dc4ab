// Walks, inspects, renders. A file that the user names is inspected, or there is an error message;
// below a directory only possible programs and libraries are inspected.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/host/exit_status.h"
#include "cli/host/log.h"
#include "cli/host/rights.h"
#include "cli/host/watchdog.h"
#include "cli/inspect/file_report.h"
#include "cli/inspect/file_walk.h"
#include "cli/inspect/unwind_report.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "elf/elf_image.h"
#include "sources/preset/file_preset.h"
#include "sources/preset/preset_files.h"

namespace labelscope::cli {
namespace {

// Asks each preset whether it fits. A file that cannot be opened again fits none.
std::vector<PresetReport> try_presets(const std::vector<PresetDescription>& known,
                                      const UniqueFd& fd) {
  auto image = ElfImage::open(UniqueFd(::dup(fd.get())));
  std::vector<PresetReport> reports;
  if (!image) return reports;
  for (const PresetDescription& preset : known) {
    PresetFit fit = fit_preset(preset, *image);
    PresetReport report{
        preset.name, fit.matches, std::move(fit.variant), std::move(fit.why_not), {}};
    for (const DescribedLabel& label : preset.labels) {
      // Several ways may lead to one label.
      const bool again = std::ranges::find(report.labels, label.key) != report.labels.end();
      if (!label.is_private && !again) report.labels.push_back(label.key);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

void look_at(const FoundFile& found, UniqueFd fd, bool all,
             const std::vector<PresetDescription>& presets, InspectReport& report) {
  ++report.looked_at;
  const bool elf = is_elf(fd);
  if (!elf && !found.named) return;
  FileReport file{found.path, mapped_path(found.path), {}};
  if (elf) file.presets = try_presets(presets, fd);
  auto inspection = inspect_file(std::move(fd), file.mapped_path);
  if (!inspection) {
    const bool foreign = elf && inspection.error().code == ErrorCode::kUnsupported;
    report.foreign += foreign ? 1 : 0;
    if (foreign && !found.named) return;
    report.problems.push_back({found.path, std::move(inspection).error(), found.named});
    return;
  }
  ++report.elf_files;
  file.inspection = *std::move(inspection);
  const Verdict verdict = file.inspection.verdict;
  const bool publishes = is_readable(verdict);
  report.publishing += publishes ? 1 : 0;
  const bool has_preset = std::ranges::any_of(file.presets, &PresetReport::matches);
  if (found.named || all || has_preset || verdict != Verdict::kNothing) {
    report.files.push_back(std::move(file));
  }
}

void report_problems(const std::vector<FileProblem>& problems) {
  for (const FileProblem& problem : problems) {
    const std::string text =
        escape_terminal(problem.path) + ": " + escape_terminal(problem.error.context);
    (problem.named ? log::error : log::warning)(text);
  }
}

// The totals below a table: how many files were looked at, how many publish.
std::string summary(const InspectReport& report) {
  std::string text = "looked at " + counted(report.looked_at, "file", "files") + ", " +
                     std::to_string(report.elf_files) + " of them programs or libraries";
  if (report.foreign != 0) {
    text += " (" + std::to_string(report.foreign) +
            " more ELF files are objects, debug information or for other "
            "processors)";
  }
  return text + ": " + counted(report.publishing, "publishes labels", "publish labels");
}

std::string render(const InspectReport& report, const InspectOptions& options, bool one_file) {
  if (options.json) return render_inspect_json(report);
  if (!options.details && !one_file) return render_table(report.files);
  std::string text;
  for (const FileReport& file : report.files) text += render_details(file);
  return text;
}

bool write_out(const std::string& text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return std::fflush(stdout) == 0 && whole;
}

// `good` is what the files themselves amount to.
int status_of_files(const std::vector<FileProblem>& problems, bool good) {
  bool failed = false;
  bool not_found = false;
  bool refused = false;
  for (const FileProblem& problem : problems) {
    if (!problem.named) continue;
    not_found |= problem.error.code == ErrorCode::kNotFound;
    refused |= problem.error.code == ErrorCode::kPermission;
    failed = true;
  }
  if (refused) return kExitPermission;
  if (not_found) return kExitNoTarget;
  return failed || !good ? kExitRuntimeError : kExitOk;
}

// Reports stacks, for --unwind.
int run_unwind(const InspectOptions& options) {
  TableWorker tables;
  FileNamer names({});
  std::vector<UnwindReport> reports;
  std::vector<FileProblem> problems;
  FileWalk walk;
  walk.use = [&](const FoundFile& found, UniqueFd fd) {
    const bool elf = is_elf(fd);
    if (!elf && !found.named) return;
    if (!elf) {
      problems.push_back({found.path, {ErrorCode::kMalformed, "it is not an ELF file"}, true});
      return;
    }
    UnwindReport report = report_unwinding(found.path, std::move(fd), tables, names);
    if (report.problem.empty() || found.named) reports.push_back(std::move(report));
  };
  walk.problem = [&](const FoundFile& found, Error error) {
    problems.push_back({found.path, std::move(error), found.named});
  };
  walk.run(options.paths);
  std::string text;
  if (options.json) {
    text = render_unwinding_json(reports);
  } else if (options.details || reports.size() == 1) {
    for (const UnwindReport& each : reports) text += render_unwinding(each);
  } else if (!reports.empty()) {
    text = render_unwinding_table(reports);
  }
  if (!write_out(text)) {
    log::error(cannot_write("stdout", errno));
    return kExitRuntimeError;
  }
  report_problems(problems);
  const bool whole = std::all_of(reports.begin(), reports.end(),
                                 [](const UnwindReport& each) { return each.is_whole(); });
  return status_of_files(problems, whole);
}

}  // namespace

int run(const InspectOptions& options) {
  // Files that the user names are read with the user's own rights; these are whole for root alone.
  unsigned work = has_lent_rights() ? 0U : unsigned{kReadsFiles};
  if (work != 0 && options.unwind) work |= kStartsWorkers;
  if (Status given_up = drop_rights(work, std::nullopt); !given_up) {
    log::error(given_up.error().context);
    return kExitRuntimeError;
  }
  const Watchdog watch(end_with(kExitRuntimeError));
  if (options.unwind) return run_unwind(options);
  KnownPresets known = load_known_presets();
  for (const std::string& problem : known.problems) log::warning(escape_terminal(problem));
  // One for any program says nothing of a file.
  std::erase_if(known.presets,
                [](const PresetDescription& preset) { return !fits_by_symbols(preset); });
  InspectReport report;
  FileWalk walk;
  walk.use = [&](const FoundFile& found, UniqueFd fd) {
    look_at(found, std::move(fd), options.all, known.presets, report);
  };
  walk.problem = [&](const FoundFile& found, Error error) {
    report.problems.push_back({found.path, std::move(error), found.named});
  };
  walk.run(options.paths);
  const bool one_file = report.looked_at == 1 && report.files.size() == 1;
  if (!write_out(render(report, options, one_file))) {
    log::error(cannot_write("stdout", errno));
    return kExitRuntimeError;
  }
  report_problems(report.problems);
  if (!one_file) log::info(summary(report));
  return status_of_files(report.problems, report.publishing != 0);
}

}  // namespace labelscope::cli
