#include "cli/step/thread_labels.h"

#include <algorithm>
#include <fstream>

#include "cli/host/check_effort.h"
#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// Returns program counters, innermost first; `pc` is that of the innermost frame.
std::vector<Address> addresses_of(const CallStack& calls, Address pc) {
  // In a deep recursion the innermost calls are enough.
  constexpr std::size_t kMost = 64;
  std::vector<Address> all{pc};
  for (auto frame = calls.rbegin(); frame != calls.rend() && all.size() < kMost; ++frame) {
    if (frame->called_from != 0) all.push_back(frame->called_from);
  }
  return all;
}

}  // namespace

ThreadLabels::ThreadLabels(Tid tid, SteppedProcess& process, StepRecord& record)
    : tid_(tid), process_(process), record_(record) {}

ThreadLabels::PublisherId ThreadLabels::id_of(const Publisher& publisher) {
  return {publisher.path, publisher.load_bias, publisher.recipe.source, publisher.recipe.module_id,
          publisher.recipe.generation};
}

bool ThreadLabels::has(const PublisherId& id) const {
  return std::any_of(variables_.begin(), variables_.end(),
                     [&](const auto& variable) { return variable->publisher == id; });
}

void ThreadLabels::drop_unloaded() {
  if (looks_ == process_.looks()) return;
  looks_ = process_.looks();
  finish_updates();
  const auto& publishers = process_.plan().publishers;
  const auto is_gone = [&](const std::unique_ptr<Variable>& variable) {
    return std::none_of(publishers.begin(), publishers.end(), [&](const Publisher& publisher) {
      return id_of(publisher) == variable->publisher;
    });
  };
  std::erase_if(variables_, is_gone);
}

void ThreadLabels::locate() {
  drop_unloaded();
  if (variables_.size() == process_.plan().publishers.size()) return;
  process_.plan_if_due();
  const auto pointer = StoppedThread::thread_pointer_of(tid_);
  // A thread without a thread pointer is at its very beginning.
  if (!pointer || *pointer == 0) return;
  for (const Publisher& publisher : process_.plan().publishers) {
    const PublisherId id = id_of(publisher);
    if (has(id)) continue;
    const Located found = labelscope::locate(publisher.recipe, *pointer, process_.memory());
    if (!found.address) continue;
    const LabelSource& source = *find_source(publisher.recipe.source);
    LabelWatch watch(process_.pid(), process_.memory(), *found.address, source,
                     [this] { return process_.facts(); });
    count(watch.seen());
    UpdateJudge judge(*source.about.updates, watch.seen(), [this](const UpdateFinding& finding) {
      record_.findings.add(subject(), finding, process_);
    });
    variables_.push_back(
        std::make_unique<Variable>(Variable{id, std::move(watch), std::move(judge)}));
  }
}

// Names the thread as checks of live processes do.
std::string ThreadLabels::subject() const {
  std::ifstream file("/proc/" + std::to_string(raw(tid_)) + "/comm");
  std::string name;
  std::getline(file, name);
  return "thread " + std::to_string(raw(tid_)) + " (" + name + ")";
}

void ThreadLabels::count(const SetCheck& check) {
  ++record_.effort.samples;
  if (!labelscope::cli::has_labels(check)) return;
  ++record_.effort.labelled;
  process_.suspects().note_labels();
}

void ThreadLabels::count_updates() {
  for (const auto& variable : variables_) {
    const std::uint64_t updates = variable->judge.updates();
    record_.effort.updates += updates - std::exchange(variable->counted, updates);
    record_.doubtful_functions.insert(variable->judge.doubtful().begin(),
                                      variable->judge.doubtful().end());
  }
}

// Returns the author's functions around `pc` in the frame of that depth, outermost first: an
// activation for each frame, and within it the inlined functions, distinguished by the line of
// their call.
std::vector<std::string> ThreadLabels::chain_of(const CallStack& calls, std::size_t depth,
                                                Address pc) {
  std::vector<std::string> chain;
  CodeMap& code = process_.code();
  for (std::size_t i = 0; i <= depth && i < calls.size(); ++i) {
    const Address at = i == depth ? pc : calls[i + 1].called_from;
    if (!code.is_authors(at)) continue;
    const std::vector<SourceLine>& lines = code.lines_at(at);
    // The activation includes the name: a function that ends in a jump to another hands its frame
    // on.
    chain.push_back("#" + std::to_string(calls[i].id) + " " +
                    (lines.empty() ? std::string() : source_name(lines.back().function)));
    for (std::size_t level = lines.size(); level > 1; --level) {
      const SourceLine& inlined = lines[level - 2];
      chain.push_back(inlined.function.str() + "@" + std::to_string(lines[level - 1].line));
    }
  }
  return chain;
}

Change ThreadLabels::describe(const Variable& variable, const CallStack& calls, Address pc,
                              std::uint64_t region) {
  Change change;
  change.check = variable.watch.seen();
  change.published = variable.watch.published();
  change.by_runtime = !process_.code().is_authors(pc);
  change.chain = chain_of(calls, calls.size() - 1, pc);
  change.region = region;
  change.addresses = addresses_of(calls, pc);
  const auto outermost =
      std::find_if(calls.begin(), calls.end(), [](const Frame& frame) { return frame.publisher; });
  if (outermost != calls.end()) change.publisher_call = outermost->id;
  return change;
}

bool ThreadLabels::look_after_step(const CallStack& calls, Address pc, std::uint64_t region,
                                   const Interval& since, const std::vector<JumpBack>& jumps,
                                   bool mapping_changed) {
  bool changed = false;
  for (auto& variable : variables_) {
    if (!variable->watch.look(mapping_changed)) continue;
    if (same_state(variable->watch.before(), variable->watch.seen())) continue;
    changed = true;
    count(variable->watch.seen());
    Interval interval = since;
    for (const JumpBack& jump : jumps) {
      const auto frame = std::find_if(calls.begin(), calls.end(),
                                      [&](const Frame& f) { return f.id == jump.frame; });
      if (frame == calls.end()) continue;
      const auto depth = static_cast<std::size_t>(frame - calls.begin());
      interval.jumps_back.push_back(chain_of(calls, depth, jump.from));
    }
    variable->judge.add(describe(*variable, calls, pc, region), interval);
  }
  if (changed) count_updates();
  return changed;
}

bool ThreadLabels::look_after_run() {
  unsigned unseen = 0;
  for (auto& variable : variables_) {
    if (!variable->watch.look(true)) continue;
    if (same_state(variable->watch.before(), variable->watch.seen())) continue;
    variable->judge.finish(variable->watch.before());
    variable->judge.found(variable->watch.seen());
    count(variable->watch.seen());
    ++unseen;
  }
  count_updates();
  record_.effort.unseen_updates += unseen;
  return unseen != 0;
}

bool ThreadLabels::has_labels() const {
  return std::ranges::any_of(variables_, [](const auto& variable) {
    return labelscope::cli::has_labels(variable->watch.seen());
  });
}

void ThreadLabels::finish_updates() {
  for (auto& variable : variables_) variable->judge.finish(variable->watch.seen());
  count_updates();
}

void ThreadLabels::end() {
  finish_updates();
  if (raw(tid_) != raw(process_.pid()) || record_.effort.labelled == 0) return;
  const ProcessFacts* facts = process_.unpublished();
  if (facts == nullptr) return;
  for (const Finding& finding : facts->findings) {
    if (finding.rule == RuleId::kNone) continue;
    UpdateFinding found;
    static_cast<Finding&>(found) = finding;
    record_.findings.add({}, found, process_);
  }
}

std::vector<Address> ThreadLabels::likely_words(bool contents) const {
  std::vector<Address> words;
  for (const auto& variable : variables_) words.push_back(variable->watch.variable());
  if (!contents) return words;
  for (const auto& variable : variables_) {
    const std::vector<Address> all = variable->watch.likely_words();
    words.insert(words.end(), all.begin() + 1, all.end());
  }
  return words;
}

}  // namespace labelscope::cli
