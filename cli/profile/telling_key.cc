// Counts samples and values of each key.
#include "cli/profile/telling_key.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace labelscope::cli {

namespace {

// A tree with a root for each of thousands of values tells nobody anything.
constexpr std::size_t kMostValues = 100;

}  // namespace

std::string telling_key(const Profile& profile) {
  struct Seen {
    std::uint64_t samples = 0;
    std::set<std::string_view> values;
  };
  std::map<std::string_view, Seen> keys;
  for (const SampleRow& row : profile.rows) {
    for (const Label& label : profile.label_sets[row.label_set]) {
      Seen& seen = keys[label.key];
      seen.samples += row.count;
      seen.values.insert(label.value);
    }
  }
  auto better = [](const auto& a, const auto& b) {
    auto rank = [](const Seen& seen) {
      return std::make_tuple(seen.values.size() > 1, seen.samples,
                             -static_cast<double>(seen.values.size()));
    };
    return rank(a.second) < rank(b.second);
  };
  std::erase_if(keys, [](const auto& key) { return key.second.values.size() > kMostValues; });
  auto best = std::max_element(keys.begin(), keys.end(), better);
  return best == keys.end() ? std::string() : std::string(best->first);
}

}  // namespace labelscope::cli
