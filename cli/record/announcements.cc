#include "cli/record/announcements.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cli/host/log.h"
#include "cli/preset/preset_offer.h"
#include "cli/record/messages.h"
#include "cli/text/escape.h"

namespace labelscope::cli {

void Announcements::choose_noticed() {
  const LabelOptions& wanted = session_.options().unpublished;
  const bool is_command = session_.targets().is_command();
  if (wanted.presets.empty() && wanted.variables.empty() && !is_command) {
    offered_ = offered_presets();
  }
  has_offered_ = is_command;
}

// A command has loaded nothing yet.
Status Announcements::planned() const {
  if (session_.targets().is_command()) return {};
  Status found = look_for_variables();
  return found ? look_for_presets() : found;
}

void Announcements::started() {
  const SessionOptions& options = session_.options();
  const OpenedSampler& opened = session_.opened();
  if (!opened.why_not_bpf.empty()) log::warning(fallback_text(opened.why_not_bpf));
  if (opened.remark_warns) {
    log::warning(opened.remark);
  } else if (!opened.remark.empty()) {
    log::verbose(opened.remark);
  }
  const std::string how = opened.backend == Backend::kPtrace ? "ptrace, stopping threads" : "BPF";
  log::info("Recording " + session_.targets().names() + " at " +
            std::to_string(options.frequency_hz) + " Hz of " +
            std::string(session_.recorder().sampler().event_name()) + " by " + how +
            (options.duration ? "" : ", until Ctrl-C or the end of the target"));
  if (!session_.targets().is_command()) announce_publishers(nullptr);
}

void Announcements::turned(Progress& progress) {
  // This reads labels of processes, and samples come first.
  if (!std::exchange(has_offered_, true)) offer_labels();
  announce_publishers(&progress);
}

void Announcements::stopped() {
  announce_publishers(nullptr);
  // When it began, the command had loaded nothing.
  if (!session_.targets().is_command()) return;
  static_cast<void>(look_for_variables());
  static_cast<void>(look_for_presets());
}

// Announces each file that publishes labels once, with the first process that has loaded it.
void Announcements::announce_publishers(Progress* progress) {
  const Recorder& recorder = session_.recorder();
  if (announced_plans_ == recorder.plans()) return;
  announced_plans_ = recorder.plans();
  if (progress != nullptr) progress->clear();
  for (const auto& [key, process] : recorder.processes()) {
    bool fresh = false;
    for (const Publisher& publisher : process->plan().publishers) {
      fresh |= announced_.insert(publisher.path).second;
    }
    if (fresh) log::info("  " + describe_labels(*process));
  }
}

// Who records a server that publishes no labels may not know that a preset reads some.
void Announcements::offer_labels() const {
  if (offered_.empty()) return;
  std::vector<Pid> fitting;
  std::vector<Pid> others;
  for (const auto& [key, process] : session_.recorder().processes()) {
    if (process->publishes()) return;
    (process->plan().notices_preset ? fitting : others).push_back(key.pid);
  }
  std::ranges::copy(of_preset_programs(others, offered_), std::back_inserter(fitting));
  const std::string offer = offer_presets(fitting, offered_);
  if (!offer.empty()) log::info("  " + offer);
}

// A file that is named with the variable may be loaded later.
Status Announcements::look_for_variables() const {
  const LabelOptions& wanted = session_.options().unpublished;
  for (std::size_t i = 0; i < wanted.variables.size(); ++i) {
    const VariableSeen& seen = session_.recorder().variable_seen(i);
    if (!seen.missing || seen.found) continue;
    const std::string what = escape_terminal(wanted.missing_text(*seen.missing));
    if (!session_.targets().is_command() && wanted.variables[i].module.empty()) {
      return Error{ErrorCode::kSystem, what};
    }
    log::warning(what);
  }
  return {};
}

// With --preset auto one that fits is enough.
Status Announcements::look_for_presets() const {
  const LabelOptions& wanted = session_.options().unpublished;
  const bool is_command = session_.targets().is_command();
  std::string what;
  bool found = false;
  for (std::size_t i = 0; i < wanted.presets.size(); ++i) {
    const PresetSeen& seen = session_.recorder().preset_seen(i);
    found |= seen.found;
    if (!seen.missing || seen.found || wanted.any_preset) continue;
    what = escape_terminal(wanted.missing_text(*seen.missing));
    if (is_command) log::warning(what);
  }
  if (wanted.any_preset && !found) {
    what = "--preset auto: " + escape_terminal(wanted.no_preset_text());
    if (is_command) log::warning(what);
  }
  if (what.empty() || is_command) return {};
  return Error{ErrorCode::kSystem, what};
}

}  // namespace labelscope::cli
