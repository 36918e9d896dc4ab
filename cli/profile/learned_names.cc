#include "cli/profile/learned_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/blame.h"
#include "cli/profile/index_table.h"
#include "cli/profile/label_sets.h"
#include "cli/profile/merge.h"

namespace labelscope::cli {
namespace {

const Label* find_key(const LabelSet& labels, const std::string& key) {
  const auto found = std::ranges::find(labels, key, &Label::key);
  return found == labels.end() ? nullptr : &*found;
}

class Learner {
 public:
  Learner(std::span<const NameOfNumber> pairs, Profile& profile)
      : pairs_(pairs), profile_(profile) {
    for (std::size_t i = 0; i < profile.label_sets.size(); ++i) {
      known_.find_or_insert(profile.label_sets[i], std::span(profile.label_sets).first(i));
    }
  }

  void run() {
    each_row([&](ProcessKey server, Index set) {
      learn(server, profile_.label_sets[set]);
      return set;
    });
    if (names_.empty()) return;
    each_row([&](ProcessKey server, Index set) { return with_names(server, set); });
    merge_equal_rows(profile_.rows);
    merge_equal_waits(profile_.waits);
    merge_equal_blame(profile_.blame);
  }

 private:
  // `visit` gets the server of each row and its label set, once for all equal ones, and returns the
  // set that the row has from now on.
  template <class Visit>
  void each_row(Visit visit) {
    std::map<std::pair<ProcessKey, Index>, Index> seen;
    const auto renamed = [&](Index process, Index set) {
      if (set == kNoIndex || process >= profile_.processes.size()) return set;
      const ProcessKey server = profile_.processes[process].server;
      const auto [entry, fresh] = seen.try_emplace({server, set}, set);
      if (fresh) entry->second = visit(server, set);
      return entry->second;
    };
    for (SampleRow& row : profile_.rows) {
      if (row.thread == kNoIndex) continue;
      const Index now = renamed(profile_.threads[row.thread].process, row.label_set);
      if (now == row.label_set) continue;
      profile_.ledger.counters[Counter::kLabelsLearned] +=
          row.count * (profile_.label_sets[now].size() - profile_.label_sets[row.label_set].size());
      row.label_set = now;
    }
    for (WaitRow& row : profile_.waits) row.label_set = renamed(row.process, row.label_set);
    for (BlameRow& row : profile_.blame) {
      row.label_set = renamed(row.process, row.label_set);
      row.by.label_set = renamed(row.by.process, row.by.label_set);
    }
  }

  void learn(ProcessKey server, const LabelSet& labels) {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const Label* number = find_key(labels, pairs_[i].number);
      const Label* name = find_key(labels, pairs_[i].name);
      if (number == nullptr || name == nullptr) continue;
      auto [entry, fresh] = names_.try_emplace({server, i, number->value}, name->value);
      if (!fresh && entry->second != name->value) entry->second.reset();
    }
  }

  Index with_names(ProcessKey server, Index set) {
    LabelSet labels = profile_.label_sets[set];
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const Label* number = find_key(labels, pairs_[i].number);
      if (number == nullptr || find_key(labels, pairs_[i].name) != nullptr) continue;
      const auto name = names_.find({server, i, number->value});
      if (name == names_.end() || !name->second) continue;
      labels.push_back({pairs_[i].name, *name->second, number->publisher});
    }
    if (labels.size() == profile_.label_sets[set].size()) return set;
    sort_labels(labels);
    const auto next = static_cast<Index>(profile_.label_sets.size());
    const Index index = known_.find_or_insert(labels, profile_.label_sets);
    if (index == next) profile_.label_sets.push_back(std::move(labels));
    return index;
  }

  std::span<const NameOfNumber> pairs_;
  Profile& profile_;
  IndexTable known_;
  // By server, pair and number. Nothing: it has two names.
  std::map<std::tuple<ProcessKey, std::size_t, std::string>, std::optional<std::string>> names_;
};

}  // namespace

std::vector<std::string> with_numbers(std::vector<std::string> keys,
                                      std::span<const NameOfNumber> pairs) {
  const auto has = [&](const std::string& key) { return std::ranges::find(keys, key) != keys.end(); };
  for (const NameOfNumber& pair : pairs) {
    if (has(pair.name) && !has(pair.number)) keys.push_back(pair.number);
  }
  return keys;
}

void learn_names(std::span<const NameOfNumber> pairs, Profile& profile) {
  if (!pairs.empty()) Learner(pairs, profile).run();
}

}  // namespace labelscope::cli
