#include "cli/profile/blame.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "cli/profile/index_table.h"
#include "cli/profile/label_sets.h"
#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::array<std::string_view, LS_BLAME_KIND_COUNT> kNames{
    "unknown", "thread",        "process", "timer", "interrupt",
    "kernel",  "still-waiting", "owner",   "quota", "many-others"};

// What a row has in common with its total, a WaitRow.
const WaitGroup& group_of(const WaitGroup& row) { return row; }

auto identity(const BlameRow& row) {
  const Blamed& by = row.by;
  return std::tuple(group_of(row), by.kind, by.process, by.label_set, by.outcome,
                    std::string_view(by.name));
}

// Returns for each label set the one without what blame does not have; nothing if it has all.
std::vector<Index> sets_by_keys(Profile& profile) {
  std::vector<Index> by_keys;
  if (profile.blame_keys.empty()) return by_keys;
  std::vector<std::string> keys = profile.blame_keys;
  keys.emplace_back(kWaitKey);
  std::vector<LabelSet>& sets = profile.label_sets;
  const std::size_t count = sets.size();
  IndexTable known;
  for (std::size_t set = 0; set < count; ++set) {
    known.find_or_insert(sets[set], std::span<const LabelSet>(sets).first(set));
  }
  for (std::size_t set = 0; set < count; ++set) {
    LabelSet labels = sets[set];
    keep_labels(labels, keys);
    const auto next = static_cast<Index>(sets.size());
    by_keys.push_back(known.find_or_insert(labels, sets));
    if (by_keys.back() == next) sets.push_back(std::move(labels));
  }
  return by_keys;
}

}  // namespace

std::string_view blame_kind_name(ls_blame_kind kind) {
  return kind < LS_BLAME_KIND_COUNT ? kNames[kind] : kNames[LS_BLAME_UNKNOWN];
}

std::optional<ls_blame_kind> find_blame_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ls_blame_kind>(found - kNames.begin());
}

void blame_open_waits(Profile& profile) {
  for (const SampleRow& row : profile.rows) {
    if ((row.flags & LS_STILL_WAITING) == 0 || row.thread == kNoIndex) continue;
    BlameRow open{{profile.threads[row.thread].process, row.label_set, row.outcome, row.value},
                  row.weight_ns,
                  row.count,
                  {}};
    open.by.kind = LS_BLAME_NOBODY_YET;
    profile.blame.push_back(std::move(open));
  }
}

void complete_blame(Profile& profile) {
  const std::vector<Index> by_keys = sets_by_keys(profile);
  const auto set_of = [&](Index set) { return set < by_keys.size() ? by_keys[set] : set; };
  for (BlameRow& row : profile.blame) {
    row.label_set = set_of(row.label_set);
    row.by.label_set = set_of(row.by.label_set);
  }
  merge_equal_blame(profile.blame);
  struct Sum {
    std::uint64_t time_ns = 0;
    std::uint64_t count = 0;
  };
  std::map<WaitGroup, Sum> blamed;
  for (const BlameRow& row : profile.blame) {
    if (row.by.kind == LS_BLAME_NOBODY_YET) continue;
    Sum& sum = blamed[row];
    sum.time_ns += row.time_ns;
    sum.count += row.count;
  }
  std::map<WaitGroup, Sum> totals;
  for (const WaitRow& row : profile.waits) {
    WaitGroup group = group_of(row);
    group.label_set = set_of(group.label_set);
    Sum& total = totals[group];
    total.time_ns += row.time_ns;
    total.count += row.count;
  }
  std::map<WaitGroup, std::uint64_t> left;  // of each total that has less than its parts
  for (const auto& [group, sum] : blamed) left[group] = 0;
  for (const auto& [group, total] : totals) {
    const Sum sum = blamed[group];
    left[group] = total.time_ns;
    if (sum.time_ns < total.time_ns) {
      BlameRow unknown{group, total.time_ns - sum.time_ns, 0, {}};
      unknown.count = total.count - std::min(total.count, sum.count);
      profile.blame.push_back(std::move(unknown));
    }
    if (sum.time_ns <= total.time_ns) left.erase(group);
  }
  if (left.empty()) return;
  for (BlameRow& row : profile.blame) {
    const auto total = left.find(row);
    if (row.by.kind == LS_BLAME_NOBODY_YET || total == left.end()) continue;
    // Each part gets its share of what the parts before it have left.
    Sum& parts = blamed[row];
    const auto share = static_cast<std::uint64_t>(Wide{total->second} * row.time_ns /
                                                  std::max<Wide>(parts.time_ns, 1));
    parts.time_ns -= row.time_ns;
    total->second -= share;
    row.time_ns = share;
  }
  std::erase_if(profile.blame, [](const BlameRow& row) { return row.time_ns == 0; });
}

void merge_equal_blame(std::vector<BlameRow>& rows) {
  std::ranges::sort(rows,
                    [](const BlameRow& a, const BlameRow& b) { return identity(a) < identity(b); });
  std::vector<BlameRow> merged;
  for (BlameRow& row : rows) {
    if (!merged.empty() && identity(merged.back()) == identity(row)) {
      merged.back().time_ns += row.time_ns;
      merged.back().count += row.count;
    } else {
      merged.push_back(std::move(row));
    }
  }
  rows = std::move(merged);
}

void drop_blame(Profile& profile, std::string why) {
  profile.blame.clear();
  profile.has_blame = false;
  profile.why_no_blame = std::move(why);
}

std::string why_no_blame(const Profile& profile) {
  if (!profile.why_no_blame.empty()) return profile.why_no_blame;
  return "it was not recorded who made whom wait: labelscope record --mode offcpu --blame KEY does "
         "that";
}

}  // namespace labelscope::cli
