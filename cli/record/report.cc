// Everything that is printed here is for people; the files are for programs.
#include "cli/record/report.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/host/log.h"
#include "cli/options/values.h"
#include "cli/record/messages.h"
#include "cli/record/missing_names.h"
#include "cli/record/stack_ends.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "cli/unwind/missing_tables.h"
#include "process/proc_fs.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

std::uint64_t conflicts(const Profile& profile) {
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.flags & LS_KEY_CONFLICT) count += row.count;
  }
  return count;
}

// Returns whether the names of threads divide the time: at least two have a hundredth of it.
bool has_thread_names(const Profile& profile) {
  std::map<std::string_view, std::uint64_t> time;
  std::uint64_t whole = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.thread == kNoIndex) continue;
    time[profile.threads[row.thread].name] += row.weight_ns;
    whole += row.weight_ns;
  }
  return std::ranges::count_if(time, [&](const auto& entry) {
           return entry.second != 0 && entry.second >= whole / 100;
         }) >= 2;
}

// Returns what a process shows in place of its arguments: it has overwritten the first one. A name
// of a program has no blanks.
std::string title_of(Pid pid) {
  constexpr std::size_t kMost = 4096;
  const auto arguments = read_proc_file(proc_path(Tid{raw(pid)}, "cmdline"), kMost);
  if (!arguments) return {};
  const std::string first = arguments->substr(0, arguments->find('\0'));
  return first.find(' ') == std::string::npos || first.starts_with('/') ? std::string() : first;
}

}  // namespace

// Without samples nothing is known about labels.
void RecordReport::say_problems_of_samples() const {
  if (profile().ledger.written == 0) return;
  say_missing_keys();
  say_label_sets();
  for (const std::string& line : unmet_rules(options_.labels, recorder_.met_keys())) {
    log::warning(escape_terminal(line));
  }
  say_variables_without_value();
  say_waits_without_thread();
  if (const std::string line = functions_of_scripts(profile()); !line.empty()) log::info(line);
  for (const std::string& line : recorder_.process_labels().problems()) {
    log::warning(escape_terminal(line));
  }
}

void RecordReport::say_lost_publishers() const {
  constexpr std::size_t kMostNamed = 3;
  const auto& lost = recorder_.lost_publishers();
  if (lost.empty()) return;
  std::string files;
  std::size_t named = 0;
  for (const auto& [path, publisher] : lost) {
    if (named++ == kMostNamed) break;
    files += (files.empty() ? "" : ", ") + path;
  }
  if (lost.size() > kMostNamed)
    files += " and " + with_thousands(lost.size() - kMostNamed) + " more";
  const LostPublisher& example = lost.begin()->second;
  log::warning(escape_terminal("labels of " + files + " were not read: " + example.why +
                               " (process " + std::to_string(raw(example.example)) + ")"));
}

void RecordReport::say_problems() const {
  say_problems_of_samples();
  say_lost_publishers();
  const bool lacks_mappings = std::ranges::any_of(
      profile().locations,
      [](const Location& one) { return is_code(one.kind) && one.module == kNoIndex; });
  for (const std::string& line :
       ledger_problems(profile().ledger, opened_.bpf_would_do, lacks_mappings)) {
    log::warning(line);
  }
  for (const std::string& line : account_problems(profile())) log::warning(line);
  if (const auto& group = recorder_.group(); group && !group->doubt().empty()) {
    const std::string line =
        escape_terminal("the clock of the cgroup " + group->clock().folder() +
                        " was not held against the recorded time: " + group->doubt());
    options_.strict ? log::info(line) : log::verbose(line);
  }
  if (opened_.tables) {
    warn_of_missing_tables(opened_.tables->failures());
    const std::string& folder = options_.unwind_cache;
    report_kept_tables(opened_.tables->cache(), opened_.why_no_cache,
                       !folder.empty() && folder != "none");
  }
  if (const std::string refusal = recorder_.sampler().refusal(); !refusal.empty()) {
    log::warning("a thread may not be stopped: " + escape_terminal(refusal));
  }
  if (const std::uint64_t count = conflicts(profile()); count > 0) {
    log::warning("in " + with_thousands(count) +
                 " samples two files set one label to different values: each value is shown with "
                 "its file behind an @");
  }
  for (const auto& [name, count] : profile().ledger.named()) {
    log::verbose("  counted: " + with_thousands(count) + " " + name);
  }
  if (const std::string text = stack_ends_text(profile()); !text.empty()) log::info(text);
  if (const std::string text = recorder_.table_times().text(); !text.empty()) log::info(text);
  for (const std::string& line : missing_names(profile())) log::info(line);
}

// These variables were found, so no other message explains why their labels are missing.
void RecordReport::say_variables_without_value() const {
  const auto& variables = options_.unpublished.variables;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!recorder_.variable_seen(i).found) continue;
    const auto has_key = [&](const Label& label) { return label.key == variables[i].key; };
    if (std::ranges::any_of(profile().label_sets, [&](const LabelSet& labels) {
          return std::ranges::any_of(labels, has_key);
        })) {
      continue;
    }
    log::info(escape_terminal(
        "--variable " + variables[i].text +
        ": no sample has a value of it: it is there, and a pointer was null or led nowhere, or "
        "label rules left it out; labelscope dump --explain with the same --variable shows how it "
        "is read"));
  }
}

void RecordReport::say_waits_without_thread() const {
  if (!std::ranges::any_of(profile().values, [](const ValueType& value) { return is_wait(value); }))
    return;
  std::set<std::string_view> waiting;
  for (const auto& [key, process] : recorder_.processes()) {
    for (const Publisher& publisher : process->plan().publishers) {
      const LabelSource* source = find_source(publisher.recipe.source);
      if (source != nullptr && !source->about.waiting.empty())
        waiting.insert(source->about.waiting);
      // An addon of node has labels of another kind.
      if (publisher.path.ends_with(".node")) waiting.insert("requests of node");
    }
    // It has no part in a wait of the loop, so it need not be among the modules with samples.
    if (process->maps_file("/_asyncio.")) waiting.insert("tasks of asyncio");
  }
  const std::string sentence = waits_without_thread(waiting);
  if (!sentence.empty()) log::info(sentence);
}

// One sentence covers all processes.
std::string RecordReport::why_no_labels() const {
  const auto& processes = recorder_.processes();
  const auto publishing = std::find_if(processes.begin(), processes.end(),
                                       [](const auto& entry) { return entry.second->publishes(); });
  const auto refused = std::find_if(processes.begin(), processes.end(), [](const auto& entry) {
    return !entry.second->plan().refusals.empty();
  });
  if (publishing != processes.end()) {
    const bool read = profile().ledger.outcomes[LS_UNLABELLED] > 0;
    return describe_labels(*publishing->second) +
           (read ? "; but no thread that was sampled had set any" : "");
  }
  if (refused != processes.end()) return describe_labels(*refused->second);
  const std::string advice = "; labelscope dump --explain shows what was looked for";
  if (recorder_.process_count() == 1) return describe_labels(*processes.begin()->second) + advice;
  return "the " + with_thousands(recorder_.process_count()) +
         " processes set no labels that labelscope knows" + advice;
}

// The absence of labels has been reported. This adds the reason, and what distinguishes samples all
// the same.
void RecordReport::explain_missing_labels() const {
  if (profile().ledger.outcomes[LS_LABELLED] > 0 || recorder_.processes().empty()) return;
  log::info("  " + why_no_labels());
  const bool has_labels = std::ranges::any_of(
      profile().label_sets, [](const LabelSet& labels) { return !labels.empty(); });
  if (has_labels || !options_.summary.empty()) return;
  if (has_thread_names(profile())) {
    log::info("  Its threads have names:");
    static_cast<void>(render_summary(shown(), {std::string(kThreadNameKey)},
                                     style_for(options_.messages.color, STDERR_FILENO), std::cerr));
    std::cerr.flush();
  }
  for (const auto& [key, process] : recorder_.processes()) {
    const std::string title = title_of(key.pid);
    if (title.empty()) continue;
    log::info("  --preset title: process " + std::to_string(raw(key.pid)) + " calls itself \"" +
              escape_terminal(title) + "\"");
    break;
  }
  log::info("  What works all the same: --summary " + in_words(own_keys(&profile()), " or ") +
            "; and --process-label, --env-label or --variable take labels from elsewhere");
}

bool RecordReport::show_labels(const Outputs& outputs) {
  bool written = show_summary(outputs.take_stdout());
  written &= show_blame(outputs.take_stdout());
  if (quiet_) return written;
  // If stderr cannot be written to, there is no way to report that.
  static_cast<void>(show_keys(std::cerr, STDERR_FILENO));
  explain_missing_labels();
  return written;
}

}  // namespace labelscope::cli
