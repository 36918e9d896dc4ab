#include "cli/preset/preset_offer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cli/text/escape.h"
#include "elf/elf_image.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "sources/preset/file_preset.h"
#include "sources/preset/preset_files.h"
#include "process/one_look.h"

namespace labelscope::cli {
namespace {

// A server may have a thousand processes; the first ones are as good.
constexpr std::size_t kMostProcesses = 32;
std::span<const Pid> first_of(std::span<const Pid> pids) {
  return pids.first(std::min(pids.size(), kMostProcesses));
}
// Values are read again until some process says something, since a thread may be between two
// requests.
constexpr int kMostLooks = 20;

// A preset that fits a process, and how to read it there.
struct Fit {
  std::shared_ptr<LiveProcess> process;
  Pid pid{};
  Publisher publisher;
  std::shared_ptr<const ProcessPlan> plan;
};

std::vector<Fit> find_fits(std::span<const Pid> pids, const ModulePresets& presets) {
  std::vector<Fit> fits;
  const Planner planner({.presets = presets});
  for (const Pid pid : first_of(pids)) {
    auto process = LiveProcess::open(pid);
    if (!process) continue;
    std::shared_ptr<LiveProcess> shared = *std::move(process);
    auto planned = planner.for_another_process().plan(OneLook(*shared));
    if (!planned) continue;
    const auto plan = std::make_shared<const ProcessPlan>(*std::move(planned));
    for (const Publisher& publisher : plan->publishers) {
      if (plan->presets.find(publisher.recipe) == nullptr) continue;
      fits.push_back({shared, pid, publisher, plan});
    }
  }
  return fits;
}

// The labels of the process's first thread, which runs on meanwhile.
std::string labels_now(const Fit& fit) {
  const std::string name = fit.process->comm();
  ThreadState thread;
  thread.tid = Tid{raw(fit.pid)};
  thread.name = name;
  thread.facts = fit.plan->facts.get();
  thread.presets = &fit.plan->presets;
  thread.first = true;
  const Observation seen =
      observe(std::span(&fit.publisher.recipe, 1), thread, fit.process->memory());
  std::string text;
  for (const Label& label : seen.labels) {
    text +=
        (text.empty() ? "" : " ") + escape_terminal(label.key) + "=" + escape_terminal(label.value);
  }
  return text;
}

}  // namespace

ModulePresets offered_presets() {
  ModulePresets presets;
  for (PresetDescription& preset : load_known_presets().presets) {
    if (!fits_by_symbols(preset)) continue;
    std::erase_if(preset.labels, [](const DescribedLabel& label) { return label.is_private; });
    presets.push_back(std::make_shared<FilePreset>(std::move(preset)));
  }
  return presets;
}

std::vector<Pid> of_preset_programs(std::span<const Pid> pids, const ModulePresets& presets) {
  std::vector<Pid> found;
  std::map<std::pair<dev_t, ino_t>, bool> seen;
  for (const Pid pid : first_of(pids)) {
    const auto process = LiveProcess::open(pid);
    if (!process) continue;
    UniqueFd program(::open((*process)->proc_path("exe").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!program.valid() || ::fstat(program.get(), &status) != 0) continue;
    const auto [known, fresh] = seen.try_emplace({status.st_dev, status.st_ino});
    if (fresh) {
      const auto image = ElfImage::open(std::move(program));
      // A program may have been given to its loader, which then is what runs.
      known->second =
          image && (!image->executable() || std::ranges::any_of(presets, [&](const auto& preset) {
            return preset->matches(*image);
          }));
    }
    if (known->second) found.push_back(pid);
  }
  return found;
}

std::string offer_presets(std::span<const Pid> pids, const ModulePresets& presets) {
  const std::vector<Fit> fits = find_fits(pids, presets);
  if (fits.empty()) return {};
  // The one that says most is the best example.
  std::string said;
  const Fit* best = &fits.front();
  for (int look = 0; look < kMostLooks && said.empty(); ++look) {
    for (const Fit& fit : fits) {
      std::string now = labels_now(fit);
      if (now.size() <= said.size()) continue;
      said = std::move(now);
      best = &fit;
    }
  }
  constexpr std::string_view kPreset = "preset ";
  std::string named = best->publisher.named;
  if (named.starts_with(kPreset)) named.erase(0, kPreset.size());
  const std::string name = named.substr(0, named.find(' '));
  std::string text = "--preset " + name + " fits (" + named + ")";
  if (said.empty()) return text + ", and has no labels at this moment";
  return text + ", and says of process " + std::to_string(raw(best->pid)) + " now: " + said;
}

}  // namespace labelscope::cli
