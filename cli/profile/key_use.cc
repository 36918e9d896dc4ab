// Counts by label set first: there are few sets, and many rows.
#include "cli/profile/key_use.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace labelscope::cli {
namespace {

// A tree with a root for each of thousands of values is of no use.
constexpr std::size_t kMostValues = 100;

// These have another value for each piece of work, even if a recording is so short that it has few
// values.
bool is_identity(std::string_view key) { return key == "trace_id" || key == "span_id"; }

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

}  // namespace labelscope::cli
