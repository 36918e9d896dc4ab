#include "cli/answer/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/profile/index_table.h"
#include "cli/profile/key_use.h"
#include "cli/profile/merge.h"
#include "cli/text/shares.h"

namespace labelscope::cli {
namespace {

// A table of request IDs shows nothing: no ID is in both recordings.
constexpr std::size_t kFewValues = 100;

using RowKind = ComparedRow::Kind;
using Parts = std::map<std::pair<RowKind, std::string>, ComparedRow::Side>;

// The samples of a row have weighed alike, as far as is known. A total of waits without a sample is
// one.
double squares_of(const SampleRow& row, const RowLabels& labels) {
  const auto weight = static_cast<double>(row.weight_ns);
  const std::uint64_t samples = std::max<std::uint64_t>(row.count, 1);
  return weight * weight / samples_of_one_weight(samples, labels.is_of_total(row));
}

void add(ComparedRow::Side& side, std::uint64_t samples, std::uint64_t weight_ns, double squares) {
  side.samples += samples;
  side.weight_ns += weight_ns;
  side.squares += squares;
}

void add(ComparedRow::Side& side, const SampleRow& row, const RowLabels& labels) {
  add(side, row.count, row.weight_ns, squares_of(row, labels));
}

void add(ComparedRow::Side& side, const ComparedRow::Side& more) {
  add(side, more.samples, more.weight_ns, more.squares);
}

// Rows that only differ by what no label shows, as one, with the sum of each.
std::vector<std::pair<SampleRow, ComparedRow::Side>> rows_by_labels(const Profile& profile,
                                                                    const RowLabels& labels) {
  std::vector<SampleRow> rows;
  std::vector<ComparedRow::Side> sums;
  IndexTable known;
  for (SampleRow row : profile.rows) {
    ComparedRow::Side sum;
    add(sum, row, labels);
    row.time_ns = 0;
    row.flags = 0;
    row.stack = kNoIndex;
    const auto next = static_cast<Index>(rows.size());
    const Index at = known.find_or_insert(row, rows);
    if (at == next) {
      rows.push_back(row);
      sums.emplace_back();
    }
    add(sums[at], sum);
  }
  std::vector<std::pair<SampleRow, ComparedRow::Side>> both;
  for (std::size_t i = 0; i < rows.size(); ++i) both.emplace_back(rows[i], sums[i]);
  return both;
}

Parts parts_by_label(const Profile& profile, const std::string& key) {
  const RowLabels labels(profile);
  Parts parts;
  for (const auto& [row, sum] : rows_by_labels(profile, labels)) {
    if (std::optional<std::string> value = labels.value(row, key)) {
      add(parts[{RowKind::kValue, *std::move(value)}], sum);
    } else {
      add(parts[{is_unreadable(row.outcome) ? RowKind::kUnreadable : RowKind::kWithout, {}}], sum);
    }
  }
  return parts;
}

Parts parts_by_function(const Profile& profile, bool and_below) {
  FrameTree names;
  std::vector<std::vector<FrameTree::Name>> of_location(profile.locations.size());
  for (std::size_t i = 0; i < of_location.size(); ++i) {
    for (const std::string& name : function_names(profile, profile.locations[i])) {
      of_location[i].push_back(names.name(name));
    }
  }
  const FrameTree::Name no_stack = names.name(std::string(kNoStack));
  std::vector<ComparedRow::Side> of_stack(profile.stacks.size() + 1);
  const RowLabels labels(profile);
  for (const SampleRow& row : profile.rows) {
    add(of_stack[row.stack == kNoIndex ? profile.stacks.size() : row.stack], row, labels);
  }
  std::map<FrameTree::Name, ComparedRow::Side> sums;
  for (std::size_t i = 0; i < of_stack.size(); ++i) {
    if (of_stack[i].samples == 0 && of_stack[i].weight_ns == 0) continue;
    const std::vector<Index> none;
    const std::vector<Index>& frames = i < profile.stacks.size() ? profile.stacks[i].frames : none;
    // A function counts once in a stack, however often it has called itself.
    std::set<FrameTree::Name> inside;
    for (const Index frame : frames) {
      const std::vector<FrameTree::Name>& here = of_location[frame];
      inside.insert(here.begin(), and_below ? here.end() : here.begin() + 1);
      if (!and_below) break;
    }
    if (inside.empty()) inside = {no_stack};
    for (const FrameTree::Name name : inside) add(sums[name], of_stack[i]);
  }
  Parts parts;
  for (const auto& [name, side] : sums) parts[{RowKind::kValue, names.text(name)}] = side;
  return parts;
}

ComparedRow::Side whole_of(const Profile& profile) {
  ComparedRow::Side whole;
  const RowLabels labels(profile);
  for (const SampleRow& row : profile.rows) add(whole, row, labels);
  whole.share = 1;
  return whole;
}

std::vector<ComparedRow> compared(Parts a, const Parts& b, const Comparison& both) {
  const ComparedRow::Side& whole_a = both.a;
  const ComparedRow::Side& whole_b = both.b;
  for (const auto& [name, side] : b) a.try_emplace(name);
  const auto share = [](const ComparedRow::Side& part, const ComparedRow::Side& whole) {
    return whole.weight_ns == 0
               ? 0
               : static_cast<double>(part.weight_ns) / static_cast<double>(whole.weight_ns);
  };
  std::vector<ComparedRow> rows;
  for (const auto& [name, side] : a) {
    ComparedRow row{name.first, name.second, side, {}};
    if (const auto found = b.find(name); found != b.end()) row.b = found->second;
    row.a.share = share(row.a, whole_a);
    row.b.share = share(row.b, whole_b);
    row.difference = row.b.share - row.a.share;
    row.errors = both.has_chance ? standard_errors(row.a, whole_a, row.b, whole_b)
                 : row.difference == 0
                     ? 0
                     : std::copysign(std::numeric_limits<double>::infinity(), row.difference);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow& x, const ComparedRow& y) {
    if (x.is_noise() != y.is_noise()) return y.is_noise();
    const double of_x = std::abs(x.difference);
    const double of_y = std::abs(y.difference);
    return of_x != of_y ? of_x > of_y : x.a.weight_ns > y.a.weight_ns;
  });
  return rows;
}

}  // namespace

double standard_errors(const ComparedRow::Side& part_a, const ComparedRow::Side& whole_a,
                       const ComparedRow::Side& part_b, const ComparedRow::Side& whole_b) {
  if (whole_a.weight_ns == 0 || whole_b.weight_ns == 0) return 0;
  const auto share = [](const ComparedRow::Side& part, const ComparedRow::Side& whole) {
    return static_cast<double>(part.weight_ns) / static_cast<double>(whole.weight_ns);
  };
  const auto variance = [&](const ComparedRow::Side& part, const ComparedRow::Side& whole) {
    const auto all = static_cast<double>(whole.weight_ns);
    const double mean = all / static_cast<double>(std::max<std::uint64_t>(whole.samples, 1));
    const double p = share(part, whole);
    const double rest = std::max(0.0, whole.squares - part.squares);
    return ((1 - p) * (1 - p) * (part.squares + mean * mean) + p * p * (rest + mean * mean)) /
           (all * all);
  };
  return (share(part_b, whole_b) - share(part_a, whole_a)) /
         std::sqrt(variance(part_a, whole_a) + variance(part_b, whole_b));
}

Result<Comparison> Comparison::make(const Profile& a, const Profile& b,
                                    std::vector<std::string> keys) {
  for (const Profile* profile : {&a, &b}) {
    if (Status status = check_tables(*profile); !status) return std::move(status).error();
  }
  if (Status same = check_same_values(a, b); !same) return std::move(same).error();
  Comparison made;
  made.a = whole_of(a);
  made.b = whole_of(b);
  made.value = a.whole_value();
  made.counted = a.counted;
  made.has_chance = a.counts_samples();
  if (keys.empty()) {
    std::map<std::string_view, std::pair<std::size_t, std::uint64_t>> uses;
    for (const Profile* profile : {&a, &b}) {
      for (const auto& [key, use] : count_keys(*profile)) {
        auto& [values, weight] = uses[key];
        values = std::max(values, use.values.size());
        weight += use.weight_ns;
      }
    }
    for (const auto& [key, use] : uses) {
      (use.first <= kFewValues ? keys : made.left_out).emplace_back(key);
    }
    std::stable_sort(keys.begin(), keys.end(), [&](const std::string& x, const std::string& y) {
      return uses[x].second > uses[y].second;
    });
  }
  using By = ComparedTable::By;
  for (const std::string& key : keys) {
    made.tables.push_back(
        {By::kLabel, key, compared(parts_by_label(a, key), parts_by_label(b, key), made)});
  }
  for (const By by : {By::kFunctionAlone, By::kFunctionAndBelow}) {
    const bool below = by == By::kFunctionAndBelow;
    made.tables.push_back(
        {by, {}, compared(parts_by_function(a, below), parts_by_function(b, below), made)});
  }
  return made;
}

Result<std::string> merge_sides(Profile& a, Profile b) {
  std::string key = "recording";
  const auto has_key = [&](const Profile& profile) {
    return std::any_of(profile.label_sets.begin(), profile.label_sets.end(), [&](const auto& set) {
      return std::any_of(set.begin(), set.end(), [&](const Label& one) { return one.key == key; });
    });
  };
  while (has_key(a) || has_key(b)) key.insert(0, "labelscope.");
  for (const auto& [profile, side] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    const auto none = static_cast<Index>(profile->label_sets.size());
    profile->label_sets.emplace_back();
    for (SampleRow& row : profile->rows) {
      if (row.label_set == kNoIndex) row.label_set = none;
    }
    for (LabelSet& set : profile->label_sets) set.push_back({key, side, 0});
  }
  // Each recording counts from its own start: how long ago it was made is no difference.
  b.start_unix_ns = a.start_unix_ns;
  if (Status merged = merge(a, std::move(b)); !merged) return std::move(merged).error();
  return key;
}

}  // namespace labelscope::cli
