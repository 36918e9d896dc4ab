// Counts by label set first: there are few sets, and many rows.
#include "cli/profile/key_use.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

// A tree with a root for each of thousands of values is of no use.
constexpr std::size_t kMostValues = 100;

// These have another value for each piece of work, even if a recording is so short that it has few
// values.
bool is_identity(std::string_view key) { return key == "trace_id" || key == "span_id"; }

// Different sets with equal hashes of 64 bits are not detected: this is a number for people.
std::size_t sets_without(const std::vector<const LabelSet*>& sets,
                         const std::vector<std::pair<std::string, std::size_t>>& keys) {
  std::unordered_set<std::uint64_t> different;
  for (const LabelSet* set : sets) {
    LabelSet rest = *set;
    std::erase_if(rest, [&](const Label& label) {
      return std::ranges::find(keys, label.key, [](const auto& key) -> const std::string& {
               return key.first;
             }) != keys.end();
    });
    different.insert(hash_of(rest));
  }
  return different.size();
}

constexpr std::size_t kMostKeysLeftOut = 64;

// Leaves out keys, those with most values first, until there are at most `most` sets. The reason of
// a wait is none of them: the program has not chosen it, and it has few values.
ManyLabelSets few_by_leaving_out(const std::vector<const LabelSet*>& sets, std::size_t most) {
  std::unordered_map<std::string_view, std::unordered_set<std::string_view, SecretHash>, SecretHash>
      values;
  for (const LabelSet* set : sets) {
    for (const Label& label : *set) {
      if (label.key != kWaitKey) values[label.key].insert(label.value);
    }
  }
  std::vector<std::pair<std::size_t, std::string_view>> candidates;
  candidates.reserve(values.size());
  for (const auto& [key, of_key] : values) candidates.emplace_back(of_key.size(), key);
  std::ranges::sort(candidates, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  ManyLabelSets found{sets.size(), {}, sets.size()};
  for (const auto& [count, key] : candidates) {
    // Each key costs a look at all sets, and a program may have a key for each request.
    if (found.without <= most || found.keys.size() == kMostKeysLeftOut) break;
    found.keys.emplace_back(key, count);
    found.without = sets_without(sets, found.keys);
  }
  return found;
}

}  // namespace

std::map<std::string_view, KeyUse> count_keys(const Profile& profile) {
  std::vector<KeyUse> by_set(profile.label_sets.size());
  for (const SampleRow& row : profile.rows) {
    if (row.label_set == kNoIndex) continue;
    by_set[row.label_set].samples += row.count;
    by_set[row.label_set].weight_ns += row.weight_ns;
  }
  std::map<std::string_view, KeyUse> keys;
  for (std::size_t i = 0; i < by_set.size(); ++i) {
    // Totals of waits may be of labels without any sample.
    if (by_set[i].samples == 0 && by_set[i].weight_ns == 0) continue;
    std::set<std::string_view> counted;
    for (const Label& label : profile.label_sets[i]) {
      KeyUse& use = keys[label.key];
      use.values.insert(label.value);
      if (!counted.insert(label.key).second) continue;
      use.samples += by_set[i].samples;
      use.weight_ns += by_set[i].weight_ns;
    }
  }
  return keys;
}

std::string best_key(const Profile& profile) {
  std::map<std::string_view, KeyUse> keys = count_keys(profile);
  std::erase_if(keys, [](const auto& key) {
    return key.second.values.size() > kMostValues || is_identity(key.first);
  });
  auto rank = [](const KeyUse& use) {
    return std::make_tuple(use.values.size() > 1, use.samples,
                           -static_cast<double>(use.values.size()));
  };
  auto best = std::max_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return rank(a.second) < rank(b.second);
  });
  return best == keys.end() ? std::string() : std::string(best->first);
}

std::optional<ManyLabelSets> many_label_sets(const Profile& profile) {
  std::set<Index> used;
  for (const SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex) used.insert(row.label_set);
  }
  if (used.size() <= kManyLabelSets) return std::nullopt;
  std::vector<const LabelSet*> sets;
  sets.reserve(used.size());
  for (const Index index : used) sets.push_back(&profile.label_sets[index]);
  return few_by_leaving_out(sets, kManyLabelSets);
}

std::vector<std::string> keys_of_many_sets(std::span<const LabelSet> sets, std::size_t most) {
  std::vector<const LabelSet*> all;
  all.reserve(sets.size());
  for (const LabelSet& set : sets) all.push_back(&set);
  std::vector<std::string> keys;
  for (auto& [key, values] : few_by_leaving_out(all, most).keys) keys.push_back(std::move(key));
  return keys;
}

}  // namespace labelscope::cli
