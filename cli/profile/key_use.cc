// Counts by label set first: there are few sets, and many rows.
#include "cli/profile/key_use.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/profile/index_table.h"

namespace labelscope::cli {
namespace {

// A tree with a root for each of thousands of values is of no use.
constexpr std::size_t kMostValues = 100;

// These have another value for each piece of work, even if a recording is so short that it has few
// values.
bool is_identity(std::string_view key) { return key == "trace_id" || key == "span_id"; }

// Only this many keys, those with most values, are tried as the reason.
constexpr std::size_t kMostCandidates = 16;

// Different sets with equal hashes of 64 bits are not detected: this is a number for people.
std::size_t sets_without(const std::vector<const LabelSet*>& sets, std::string_view key) {
  std::unordered_set<std::uint64_t> different;
  for (const LabelSet* set : sets) {
    LabelSet rest = *set;
    std::erase_if(rest, [key](const Label& label) { return label.key == key; });
    different.insert(hash_of(rest));
  }
  return different.size();
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
    if (by_set[i].samples == 0) continue;
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
  std::unordered_map<std::string_view, std::unordered_set<std::string_view, SecretHash>, SecretHash>
      values;
  for (const Index index : used) {
    sets.push_back(&profile.label_sets[index]);
    for (const Label& label : *sets.back()) values[label.key].insert(label.value);
  }
  std::vector<std::pair<std::size_t, std::string_view>> candidates;
  candidates.reserve(values.size());
  for (const auto& [key, of_key] : values) candidates.emplace_back(of_key.size(), key);
  std::sort(candidates.rbegin(), candidates.rend());
  candidates.resize(std::min(candidates.size(), kMostCandidates));
  ManyLabelSets found{used.size(), {}, 0, used.size()};
  for (const auto& [count, key] : candidates) {
    const std::size_t without = sets_without(sets, key);
    if (without < found.without || found.key.empty()) {
      found.key = key;
      found.values = count;
      found.without = without;
    }
  }
  return found;
}

}  // namespace labelscope::cli
