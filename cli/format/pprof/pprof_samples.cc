#include "cli/format/pprof/pprof_samples.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/pprof/pprof_parts.h"

namespace labelscope::cli {
namespace {

// Finds our own label of this name. If a label of the program has that name, ours has the prefix,
// once or more (PprofLabels::own_key).
std::vector<PprofLabel>::iterator find_own(std::vector<PprofLabel>& labels, std::string_view name) {
  auto best = labels.end();
  for (auto label = labels.begin(); label != labels.end(); ++label) {
    const std::string_view key = label->key;
    if (!key.ends_with(name)) continue;
    std::string_view before = key.substr(0, key.size() - name.size());
    while (before.starts_with(kOwnPrefix)) before.remove_prefix(kOwnPrefix.size());
    if (before.empty() && (best == labels.end() || key.size() > best->key.size())) best = label;
  }
  return best;
}

std::optional<std::int32_t> take_number(std::vector<PprofLabel>& labels, std::string_view name) {
  const auto label = find_own(labels, name);
  if (label == labels.end() || !label->is_number || label->number < 0 ||
      label->number > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  const auto number = static_cast<std::int32_t>(label->number);
  labels.erase(label);
  return number;
}

// `understood` says whether a text can be ours.
template <class Understood>
std::string take_text(std::vector<PprofLabel>& labels, std::string_view name,
                      Understood understood) {
  const auto label = find_own(labels, name);
  if (label == labels.end() || label->is_number || !understood(label->text)) return {};
  std::string text = std::move(label->text);
  labels.erase(label);
  return text;
}

// The outcome that a sample's labels cannot show by themselves.
std::optional<std::uint8_t> parse_outcome(std::string_view name) {
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    const bool is_written = is_unreadable(i) || i == LS_UNLABELLED;
    if (is_written && outcome_name(i) == name) return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

// Reads flags from words between '|'; nullopt if one of the words is no flag.
template <class FlagOf>
std::optional<std::uint16_t> flags_of(std::string_view words, FlagOf flag_of) {
  unsigned flags = 0;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('|'), words.size());
    const unsigned flag = flag_of(words.substr(0, end));
    if (flag == 0) return std::nullopt;
    flags |= flag;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return static_cast<std::uint16_t>(flags);
}

unsigned named_flag(std::string_view word) {
  for (unsigned bit = 0; bit < kSampleFlagCount; ++bit) {
    if (sample_flag_name(bit) == word) return 1U << bit;
  }
  return 0;
}

unsigned truncated_flag(std::string_view word) {
  for (const unsigned flag : {LS_TRUNCATED_LABELS, LS_TRUNCATED_BYTES, LS_TRUNCATED_SLOTS}) {
    if (truncated_words(flag) == word) return flag;
  }
  return 0;
}

}  // namespace

// A sample has a thread only if it names a process or a thread by number; otherwise "comm" may be a
// label like any other.
Index PprofSampleLabels::thread_of(std::vector<PprofLabel>& labels) {
  const std::optional<std::int32_t> pid = take_number(labels, kPidKey);
  const std::optional<std::int32_t> tid = take_number(labels, kThreadIdKey);
  if (!pid && !tid) return kNoIndex;
  const auto any = [](const std::string&) { return true; };
  const std::string name = take_text(labels, kThreadNameKey, any);
  const std::int32_t process = pid.value_or(0);
  const auto next_process = static_cast<Index>(profile_.processes.size());
  const auto [known, is_new] = processes_.try_emplace(process, next_process);
  if (is_new) profile_.processes.push_back({Pid{process}, {}, {}, {}, {}});
  std::string& name_of_process = profile_.processes[known->second].comm;
  // The process has one name. A label with another value is no name.
  const std::string comm = take_text(labels, kCommKey, [&](const std::string& text) {
    return name_of_process.empty() || name_of_process == text;
  });
  if (name_of_process.empty()) name_of_process = comm;
  const auto next = static_cast<Index>(profile_.threads.size());
  const auto [entry, added] = threads_.try_emplace({known->second, tid.value_or(0), name}, next);
  if (added) {
    profile_.threads.push_back({known->second, Tid{tid.value_or(0)}, name, kNoIndex});
  }
  return entry->second;
}

bool PprofSampleLabels::set(std::vector<PprofLabel> labels, SampleRow& row) {
  row.thread = thread_of(labels);
  const std::string outcome = take_text(labels, "labelscope.outcome", parse_outcome);
  const std::string truncated = take_text(labels, "labelscope.truncated", [](const auto& words) {
    return flags_of(words, truncated_flag).has_value();
  });
  const std::string flags = take_text(labels, "labelscope.flags", [](const auto& words) {
    return flags_of(words, named_flag).has_value();
  });
  row.flags = static_cast<std::uint16_t>(flags_of(truncated, truncated_flag).value_or(0) |
                                         flags_of(flags, named_flag).value_or(0));
  if (labels.size() > kMostLabels) return false;
  LabelSet set;
  for (PprofLabel& label : labels) {
    set.push_back({std::string(label.key), std::move(label.text), 0});
  }
  std::uint32_t repeated = 0;
  keep_first_keys(set, repeated);
  row.flags |= static_cast<std::uint16_t>(repeated);
  row.outcome = parse_outcome(outcome).value_or(set.empty() ? LS_UNLABELLED : LS_LABELLED);
  row.label_set = index_of(std::move(set));
  return true;
}

Index PprofSampleLabels::index_of(LabelSet set) {
  std::string identity;
  for (const Label& label : set) {
    for (const std::string* text : {&label.key, &label.value}) {
      identity.append(std::to_string(text->size())).append(1, ':').append(*text);
    }
  }
  const auto next = static_cast<Index>(profile_.label_sets.size());
  const auto [entry, added] = sets_.try_emplace(std::move(identity), next);
  if (added) profile_.label_sets.push_back(std::move(set));
  return entry->second;
}

}  // namespace labelscope::cli
