// Looks up labels by row, and names flags.
#include "cli/format/common/row_labels.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "cli/format/common/frame_tree.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::array<std::string_view, kSampleFlagCount> kFlagNames{
    "truncated-slots", "truncated-labels", "truncated-bytes",   "null-value",   "duplicate-key",
    "never-touched",   "retried",          "partly-unreadable", "key-conflict", "stack-cut",
    "unknown-key",     "incomplete-label", "no-goroutine",      "still-waiting"};
static_assert(!kFlagNames.back().empty(), "every flag has a name");

// Returns whether another publisher has another value for the same key.
bool is_disputed(const Label& label, const LabelSet& all) {
  return std::any_of(all.begin(), all.end(), [&](const Label& other) {
    return other.publisher != label.publisher && other.key == label.key &&
           other.value != label.value;
  });
}

void append_word(std::string& words, std::string_view word) {
  if (!words.empty()) words += '|';
  words += word;
}

}  // namespace

std::string_view sample_flag_name(unsigned bit) {
  return bit < kFlagNames.size() ? kFlagNames[bit] : std::string_view("unknown");
}

std::string truncated_words(unsigned flags) {
  std::string words;
  if (flags & LS_TRUNCATED_LABELS) append_word(words, "labels");
  if (flags & LS_TRUNCATED_BYTES) append_word(words, "bytes");
  if (flags & LS_TRUNCATED_SLOTS) append_word(words, "slots");
  return words;
}

std::string flag_words(unsigned flags) {
  std::string words;
  for (unsigned bit = 0; flags >> bit != 0; ++bit) {
    if (flags >> bit & 1U) append_word(words, sample_flag_name(bit));
  }
  return words;
}

RowLabels::RowLabels(const Profile& profile) : profile_(profile) {
  for (std::size_t i = 0; i < profile.threads.size() && !profile.waits.empty(); ++i) {
    a_thread_of_.try_emplace(profile.threads[i].process, static_cast<Index>(i));
  }
  for (std::size_t i = 0; i < profile.waits.size(); ++i) {
    if (profile.waits[i].count == 0) continue;
    waits_.emplace(profile.waits[i], static_cast<Index>(profile.threads.size() + i));
  }
}

std::vector<std::string> keys_of_every_sample() {
  return {std::string(kThreadNameKey), std::string(kThreadIdKey), std::string(kCommKey),
          std::string(kPidKey)};
}

bool is_key_of_samples(std::string_view key) {
  return key == kThreadNameKey || key == kThreadIdKey || key == kFunctionKey;
}

std::vector<std::string> own_keys(const Profile* profile) {
  std::vector<std::string> keys = keys_of_every_sample();
  if (profile == nullptr || profile->call_graph != "none") keys.emplace_back(kFunctionKey);
  if (profile != nullptr && profile->has_kinds()) keys.emplace_back(kStateKey);
  return keys;
}

const Thread* RowLabels::thread(const SampleRow& row) const {
  return row.thread == kNoIndex ? nullptr : &profile_.threads[row.thread];
}

Index RowLabels::account(const SampleRow& row) const {
  const Thread* of_row = thread(row);
  if (of_row == nullptr) return kNoIndex;
  if (!is_wait(profile_.values[row.value])) return of_row->account;
  if ((row.flags & LS_STILL_WAITING) != 0) return kExact;
  // Of a part of a recording no time of waits is exact.
  if (waits_.empty()) return kNoIndex;
  const auto total = waits_.find({of_row->process, row.label_set, row.outcome, row.value});
  return total == waits_.end() ? of_row->account : total->second;
}

bool RowLabels::is_of_total(const SampleRow& row) const {
  return row.thread != kNoIndex && account(row) >= profile_.threads.size();
}

const Process* RowLabels::process(const SampleRow& row) const {
  const Thread* of_row = thread(row);
  if (of_row == nullptr || of_row->process >= profile_.processes.size()) return nullptr;
  return &profile_.processes[of_row->process];
}

Pid RowLabels::pid(const SampleRow& row) const {
  const Process* of_row = process(row);
  return of_row == nullptr ? Pid{} : of_row->pid;
}

const LabelSet& RowLabels::label_set(const SampleRow& row) const {
  return row.label_set == kNoIndex ? no_labels_ : profile_.label_sets[row.label_set];
}

std::string RowLabels::publisher_name(const Process* process, std::uint8_t publisher) {
  if (process == nullptr || publisher >= process->publishers.size()) {
    return std::to_string(publisher);
  }
  const std::vector<std::string>& paths = process->publishers;
  std::string name(base_name(paths[publisher]));
  const auto before =
      std::count_if(paths.begin(), paths.begin() + publisher,
                    [&](const std::string& path) { return base_name(path) == name; });
  if (before > 0) name += '#' + std::to_string(before + 1);
  return name;
}

std::optional<std::string> RowLabels::label_value(const SampleRow& row,
                                                  std::string_view key) const {
  const Label* first = nullptr;
  std::string all;
  auto append = [&](const Label& label) {
    if (!all.empty()) all += '|';
    all += label.value.empty() ? kEmptyText : std::string_view(label.value);
    all += '@' + publisher_name(process(row), label.publisher);
  };
  for (const Label& label : label_set(row)) {
    if (label.key != key) continue;
    if (first == nullptr) {
      first = &label;
    } else if (label.value != first->value) {
      if (all.empty()) append(*first);
      append(label);
    }
  }
  if (first == nullptr) return std::nullopt;
  return all.empty() ? first->value : all;
}

std::optional<std::string> RowLabels::value(const SampleRow& row, std::string_view key) const {
  std::optional<std::string> found = label_value(row, key);
  return found ? found : own_value(row, key);
}

std::optional<std::string> RowLabels::own_value(const SampleRow& row, std::string_view key) const {
  if (const Thread* of_row = thread(row)) {
    if (key == kPidKey) return std::to_string(raw(pid(row)));
    if (key == kThreadIdKey) return std::to_string(raw(of_row->tid));
    if (key == kThreadNameKey && !of_row->name.empty()) return of_row->name;
  }
  if (key == kCommKey) {
    const Process* of_row = process(row);
    if (of_row != nullptr && !of_row->comm.empty()) return of_row->comm;
  }
  if (key == kStateKey && profile_.has_kinds()) return profile_.values[row.value].name;
  if (key == kFunctionKey && row.stack != kNoIndex) {
    const std::vector<Index>& frames = profile_.stacks[row.stack].frames;
    if (!frames.empty()) {
      return function_names(profile_, profile_.locations[frames.front()]).front();
    }
  }
  return std::nullopt;
}

std::string RowLabels::group_value(const SampleRow& row, std::string_view key) const {
  std::optional<std::string> found = value(row, key);
  if (!found) return std::string(is_unreadable(row.outcome) ? kUnreadableText : kNoneText);
  return found->empty() ? std::string(kEmptyText) : *std::move(found);
}

std::string RowLabels::group_frame(const SampleRow& row, std::string_view key) const {
  return std::string(key) + '=' + group_value(row, key);
}

SampleRow RowLabels::stand_in(const WaitRow& waits) const {
  const auto thread = a_thread_of_.find(waits.process);
  SampleRow row;
  row.thread = thread == a_thread_of_.end() ? kNoIndex : thread->second;
  row.label_set = waits.label_set;
  row.outcome = waits.outcome;
  row.value = waits.value;
  return row;
}

std::vector<TextLabel> RowLabels::all(const SampleRow& row,
                                      std::string (*key_text)(std::string_view key)) const {
  std::vector<TextLabel> texts;
  const auto used = [&texts](std::string_view key) {
    return std::find_if(texts.begin(), texts.end(),
                        [key](const TextLabel& text) { return text.key == key; });
  };
  // How far the names that begin so have been counted: with many labels of one key, each would
  // otherwise try the numbers of all before it.
  std::map<std::string, unsigned> counted;
  const LabelSet& labels = label_set(row);
  texts.reserve(labels.size());
  for (const Label& label : labels) {
    const bool disputed = is_disputed(label, labels);
    std::string key =
        label.key.empty() ? std::string(kEmptyText) : escape_terminal(key_text(label.key));
    std::string value =
        label.value.empty() ? std::string(kEmptyText) : escape_terminal(label.value);
    if (const auto known = used(key); known == texts.end()) {
      if (!disputed) {
        texts.push_back({std::move(key), std::move(value)});
        continue;
      }
      texts.push_back({key, value});
    } else if (!disputed && known->value == value) {
      continue;  // another publisher has the same label
    }
    // A key gets its publisher's name in two cases. If the value is disputed, every publisher's
    // label gets one, also the first's, which keeps the plain key as well. The other case is that
    // another key escapes to the same text.
    const std::string with_publisher =
        key + '@' + escape_terminal(publisher_name(process(row), label.publisher));
    std::string unique = with_publisher;
    if (used(unique) != texts.end()) {
      unsigned& n = counted.try_emplace(with_publisher, 1).first->second;
      do {
        unique = with_publisher + "#" + std::to_string(++n);
      } while (used(unique) != texts.end());
    }
    texts.push_back({unique, value});
  }
  return texts;
}

}  // namespace labelscope::cli
