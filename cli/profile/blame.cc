#include "cli/profile/blame.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace labelscope::cli {
namespace {

constexpr std::array<std::string_view, LS_BLAME_KIND_COUNT> kNames{
    "unknown", "thread",        "process", "timer", "interrupt",
    "kernel",  "still-waiting", "owner",   "quota"};

// What a row has in common with its total, a WaitRow.
const WaitGroup& group_of(const WaitGroup& row) { return row; }

auto identity(const BlameRow& row) {
  const Blamed& by = row.by;
  return std::tuple(group_of(row), by.kind, raw(by.pid), by.label_set, by.outcome,
                    std::string_view(by.name));
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
    BlameRow open{{profile.threads[row.thread].pid, row.label_set, row.outcome, row.value},
                  row.weight_ns,
                  row.count,
                  {}};
    open.by.kind = LS_BLAME_NOBODY_YET;
    profile.blame.push_back(std::move(open));
  }
}

void complete_blame(Profile& profile) {
  merge_equal_blame(profile.blame);
  struct Parts {
    std::uint64_t time_ns = 0;
    std::uint64_t count = 0;
    BlameRow* longest = nullptr;
  };
  std::map<WaitGroup, Parts> blamed;
  for (BlameRow& row : profile.blame) {
    if (row.by.kind == LS_BLAME_NOBODY_YET) continue;
    Parts& parts = blamed[row];
    parts.time_ns += row.time_ns;
    parts.count += row.count;
    if (parts.longest == nullptr || row.time_ns > parts.longest->time_ns) parts.longest = &row;
  }
  std::vector<BlameRow> unknown;
  for (const WaitRow& total : profile.waits) {
    const Parts& parts = blamed[total];
    if (parts.time_ns > total.time_ns) {
      const std::uint64_t excess = parts.time_ns - total.time_ns;
      parts.longest->time_ns -= std::min(excess, parts.longest->time_ns);
    }
    if (parts.time_ns >= total.time_ns) continue;
    unknown.push_back({group_of(total),
                       total.time_ns - parts.time_ns,
                       total.count - std::min(total.count, parts.count),
                       {}});
  }
  profile.blame.insert(profile.blame.end(), unknown.begin(), unknown.end());
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
