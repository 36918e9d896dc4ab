#include "cli/profile/label_rules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "cli/profile/label_sets.h"

namespace labelscope::cli {
namespace {

bool contains(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// No key of --names has this character in it.
std::string named_mark(const std::string& key) { return key + "="; }

// One byte of the hash: enough to show that one group of requests is unlike the others, but too
// little to distinguish a value from the others of its group.
std::string hashed(const std::string& value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<std::size_t>(XXH3_64bits(value.data(), value.size()) & 0xFF);
  return {'#', kDigits[byte >> 4], kDigits[byte & 0xF]};
}

}  // namespace

void count_labels(const LabelChanges& changes, Ledger& ledger) {
  ledger.counters[Counter::kLabelsLeftOut] += changes.left_out;
  ledger.counters[Counter::kLabelsHashed] += changes.hashed;
}

std::vector<std::string> unmet_rules(const LabelRules& rules, const MetKeys& met) {
  std::vector<std::string> lines;
  const auto look = [&](const char* option, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (met.contains(key)) continue;
      lines.push_back(std::string(option) + " " + key + ": no label has this key");
    }
  };
  look("--label-deny", rules.deny);
  look("--label-allow", rules.allow);
  look("--label-hash", rules.hash);
  for (const auto& [key, names] : rules.names) {
    if (met.contains(named_mark(key))) continue;
    lines.push_back(
        "--names " + key + "=...: " +
        (met.contains(key) ? "no value of this label is in the file" : "no label has this key"));
  }
  return lines;
}

LabelChanges apply_rules(const LabelRules& rules, LabelSet& labels, MetKeys& met) {
  LabelChanges changes;
  if (rules.empty()) return changes;
  for (const Label& label : labels) {
    for (const auto* named : {&rules.deny, &rules.allow, &rules.hash}) {
      if (contains(*named, label.key)) met.insert(label.key);
    }
    if (rules.names.contains(label.key)) met.insert(label.key);
  }
  changes.left_out = std::erase_if(labels, [&](const Label& label) {
    const bool wanted =
        rules.allow.empty() || contains(rules.allow, label.key) || contains(rules.hash, label.key);
    return !wanted || contains(rules.deny, label.key);
  });
  for (Label& label : labels) {
    if (contains(rules.hash, label.key)) {
      label.value = hashed(label.value);
      ++changes.hashed;
    } else if (const auto named = rules.names.find(label.key); named != rules.names.end()) {
      const auto name = named->second->find(label.value);
      if (name == named->second->end()) continue;
      label.value = name->second;
      met.insert(named_mark(label.key));
    }
  }
  return changes;
}

MetKeys apply_rules(const LabelRules& rules, Profile& profile) {
  MetKeys met;
  if (rules.empty()) return met;
  std::vector<std::uint64_t> samples(profile.label_sets.size());
  for (const SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex) samples[row.label_set] += row.count;
  }
  LabelChanges all;
  change_label_sets(profile, [&](Index set, LabelSet& labels) {
    const LabelChanges changes = apply_rules(rules, labels, met);
    all.left_out += samples[set] * changes.left_out;
    all.hashed += samples[set] * changes.hashed;
  });
  count_labels(all, profile.ledger);
  return met;
}

}  // namespace labelscope::cli
