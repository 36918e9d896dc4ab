#include "cli/profile/value_caps.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/profile/label_sets.h"
#include "cli/text/shares.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

struct Use {
  std::uint64_t weight_ns = 0;
  std::uint64_t samples = 0;
};
using UseOfValues = std::map<std::string, Use>;

// How much time and how many samples each value of a key has.
UseOfValues count_values(const Profile& profile, std::string_view key) {
  std::vector<Use> by_set(profile.label_sets.size());
  for (const SampleRow& row : profile.rows) {
    if (row.label_set == kNoIndex) continue;
    by_set[row.label_set].weight_ns += row.weight_ns;
    by_set[row.label_set].samples += row.count;
  }
  UseOfValues values;
  for (std::size_t i = 0; i < by_set.size(); ++i) {
    for (const Label& label : profile.label_sets[i]) {
      if (label.key != key) continue;
      Use& use = values[label.value];
      use.weight_ns += by_set[i].weight_ns;
      use.samples += by_set[i].samples;
    }
  }
  return values;
}

// Returns the values that are over the cap: those with least time.
std::set<std::string> values_over(const UseOfValues& values, std::size_t cap) {
  std::vector<UseOfValues::const_iterator> order;
  for (auto value = values.begin(); value != values.end(); ++value) order.push_back(value);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return std::tie(b->second.weight_ns, a->first) < std::tie(a->second.weight_ns, b->first);
  });
  std::set<std::string> over;
  for (std::size_t i = cap; i < order.size(); ++i) over.insert(order[i]->first);
  return over;
}

}  // namespace

void cap_values(const ValueCaps& caps, Profile& profile) {
  for (const auto& [key, cap] : caps) {
    if (cap == kAllValues) continue;
    const UseOfValues values = count_values(profile, key);
    if (values.size() <= cap) continue;
    const std::set<std::string> over = values_over(values, cap);
    CappedLabel capped{key, values.size(), cap, 0, 0};
    for (const std::string& value : over) {
      const Use& use = values.at(value);
      capped.samples += use.samples;
      capped.weight_ns += use.weight_ns;
    }
    change_label_sets(profile, [&key, &over](Index, LabelSet& labels) {
      for (Label& label : labels) {
        if (label.key == key && over.contains(label.value)) label.value = kOtherValues;
      }
    });
    profile.ledger.counters[Counter::kLabelsOverCap] += capped.samples;
    profile.capped.push_back(std::move(capped));
  }
}

std::string capped_text(const CappedLabel& label, const Profile& profile) {
  std::uint64_t whole_ns = 0;
  for (const SampleRow& row : profile.rows) whole_ns += row.weight_ns;
  return "the label " + label.key + " has " + with_thousands(label.values) + " values: the " +
         with_thousands(label.kept) + " with most time are kept, and the others are " +
         std::string(kOtherValues) + ", with " + percent(label.weight_ns, whole_ns) +
         " of the time; --label-values " + label.key + "=" + std::to_string(label.values) +
         " keeps them all";
}

}  // namespace labelscope::cli
