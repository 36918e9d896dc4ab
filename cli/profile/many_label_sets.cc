#include "cli/profile/many_label_sets.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/profile/identity.h"

namespace labelscope::cli {
namespace {

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

std::optional<ManyLabelSets> many_label_sets(const Profile& profile) {
  std::set<Index> used;
  for (const SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex) used.insert(row.label_set);
  }
  if (used.size() <= kManyLabelSets) return std::nullopt;
  std::vector<const LabelSet*> sets;
  std::unordered_map<std::string_view, std::unordered_set<std::string_view>> values;
  for (const Index index : used) {
    sets.push_back(&profile.label_sets[index]);
    for (const Label& label : *sets.back()) values[label.key].insert(label.value);
  }
  std::vector<std::pair<std::size_t, std::string_view>> candidates;
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
