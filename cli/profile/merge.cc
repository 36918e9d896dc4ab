#include "cli/profile/merge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/profile/blame.h"
#include "cli/profile/index_table.h"

namespace labelscope::cli {
namespace {

template <class T>
Index append(std::vector<T>& to, std::vector<T>& from) {
  const auto first = static_cast<Index>(to.size());
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  return first;
}

void move_by(Index& index, Index first) {
  if (index != kNoIndex) index += first;
}

// Keeps equal texts once, and joins different ones.
void join(std::string& to, const std::string& from, const char* between) {
  if (to != from) to += between + from;
}

// A remark about one of the two is true of a part of both.
void join_remarks(std::vector<std::string>& to, const std::vector<std::string>& from) {
  constexpr std::string_view kInPart = "in part: ";
  const auto has = [](const std::vector<std::string>& remarks, const std::string& remark) {
    return std::ranges::find(remarks, remark) != remarks.end();
  };
  const auto in_part = [&](const std::string& remark) {
    return remark.starts_with(kInPart) ? remark : std::string(kInPart) + remark;
  };
  std::vector<std::string> both;
  both.reserve(to.size() + from.size());
  for (const std::string& remark : to) both.push_back(has(from, remark) ? remark : in_part(remark));
  for (const std::string& remark : from) {
    std::string made = has(to, remark) ? remark : in_part(remark);
    if (!has(both, made) && both.size() < kMostRemarks) both.push_back(std::move(made));
  }
  to = std::move(both);
}

void add(Ledger& to, const Ledger& from) {
  to.taken += from.taken;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) to.outcomes[i] += from.outcomes[i];
  to.dropped += from.dropped;
  to.written += from.written;
  to.truncated += from.truncated;
  to.counters += from.counters;
  // Only the longest of all stops is known; the median and p99 are those of the worse recording.
  to.stops.longest_us = std::max(to.stops.longest_us, from.stops.longest_us);
  to.stops.median_us = std::max(to.stops.median_us, from.stops.median_us);
  to.stops.p99_us = std::max(to.stops.p99_us, from.stops.p99_us);
  to.time.attributed_ns += from.time.attributed_ns;
  to.time.unsampled_ns += from.time.unsampled_ns;
  to.time.lost_ns += from.time.lost_ns;
  to.time.twice_ns += from.time.twice_ns;
  to.time.missing_ns += from.time.missing_ns;
  to.time.waits_twice_ns += from.time.waits_twice_ns;
  to.time.waits_missing_ns += from.time.waits_missing_ns;
}

// What only one of the two has is not known of both.
void keep_common_blame_keys(Profile& to, const Profile& from) {
  if (from.blame_keys.empty()) return;
  if (to.blame_keys.empty()) {
    to.blame_keys = from.blame_keys;
    return;
  }
  std::erase_if(to.blame_keys, [&](const std::string& key) {
    return std::ranges::find(from.blame_keys, key) == from.blame_keys.end();
  });
  if (to.blame_keys.empty()) drop_blame(to, "the recordings have no key of blame in common");
}

}  // namespace

Status check_same_values(const Profile& one, const Profile& other) {
  if (one.values == other.values && one.counted == other.counted) return {};
  const auto words = [&](const Profile& profile) {
    std::string all;
    for (const ValueType& value : profile.values) {
      all += (all.empty() ? "" : " and ") + text_of(value) +
             (time_kind(value) != nullptr ? " time" : "");
    }
    return all + (one.counted == other.counted ? "" : " by " + profile.counted);
  };
  return Error{ErrorCode::kUnsupported, "it counts " + words(other) + ", and the one before " +
                                            words(one) + "; give recordings that count the same"};
}

Status merge(Profile& to, Profile from) {
  if (Status same = check_same_values(to, from); !same) return same;
  // Both starts are the same moment on two clocks.
  const std::uint64_t shift =
      to.start_monotonic_ns - to.start_unix_ns + from.start_unix_ns - from.start_monotonic_ns;
  const std::uint64_t start = std::min(to.start_unix_ns, from.start_unix_ns);
  const std::uint64_t end =
      std::max(to.start_unix_ns + to.duration_ns, from.start_unix_ns + from.duration_ns);
  to.start_monotonic_ns -= to.start_unix_ns - start;
  to.start_unix_ns = start;
  to.duration_ns = end - start;
  join(to.event, from.event, ", ");
  join(to.backend, from.backend, ", ");
  join(to.call_graph, from.call_graph, ", ");
  join(to.command_line, from.command_line, "; ");
  join(to.kernel_release, from.kernel_release, ", ");
  join(to.tool_version, from.tool_version, ", ");

  join_remarks(to.remarks, from.remarks);

  const Index processes = append(to.processes, from.processes);
  const Index threads = append(to.threads, from.threads);
  for (auto thread = to.threads.begin() + threads; thread != to.threads.end(); ++thread) {
    move_by(thread->process, processes);
    move_by(thread->account, threads);
  }
  const Index modules = append(to.modules, from.modules);
  if (to.program == kNoIndex && from.program != kNoIndex) to.program = from.program + modules;
  const Index locations = append(to.locations, from.locations);
  for (auto location = to.locations.begin() + locations; location != to.locations.end();
       ++location) {
    move_by(location->module, modules);
  }
  const Index stacks = append(to.stacks, from.stacks);
  for (auto stack = to.stacks.begin() + stacks; stack != to.stacks.end(); ++stack) {
    for (Index& frame : stack->frames) frame += locations;
  }
  const Index label_sets = append(to.label_sets, from.label_sets);
  for (SampleRow& row : from.rows) {
    move_by(row.thread, threads);
    move_by(row.stack, stacks);
    move_by(row.label_set, label_sets);
    if (row.time_ns != 0) row.time_ns += shift;
  }
  append(to.rows, from.rows);
  for (WaitRow& row : from.waits) {
    move_by(row.process, processes);
    move_by(row.label_set, label_sets);
  }
  append(to.waits, from.waits);
  for (BlameRow& row : from.blame) {
    move_by(row.process, processes);
    move_by(row.label_set, label_sets);
    move_by(row.by.process, processes);
    move_by(row.by.label_set, label_sets);
  }
  append(to.blame, from.blame);
  for (ThreadLedger thread : from.thread_ledgers.threads()) {
    move_by(thread.entry, processes);
    to.thread_ledgers.add(thread);
  }
  to.thread_ledgers.add_others(from.thread_ledgers.others(), from.thread_ledgers.other_count());
  to.thread_ledgers.cut();
  if (to.has_blame != from.has_blame) {
    drop_blame(to, "of one of the recordings, " + why_no_blame(to.has_blame ? from : to));
  }
  keep_common_blame_keys(to, from);
  add(to.ledger, from.ledger);
  return {};
}

void merge_equal_rows(std::vector<SampleRow>& rows) {
  IndexTable known_rows;
  std::size_t kept = 0;
  for (const SampleRow row : rows) {
    const auto next = static_cast<Index>(kept);
    if (row.time_ns == 0) {
      const Index known = known_rows.find_or_insert(row, std::span(rows).first(kept));
      if (known != next) {
        rows[known].count += row.count;
        rows[known].weight_ns += row.weight_ns;
        continue;
      }
    }
    rows[kept++] = row;
  }
  rows.resize(kept);
}

void merge_equal_waits(std::vector<WaitRow>& rows) {
  const auto group = [](const WaitRow& row) -> const WaitGroup& { return row; };
  std::ranges::sort(rows, {}, group);
  std::size_t kept = 0;
  for (const WaitRow& row : rows) {
    if (kept == 0 || group(rows[kept - 1]) != group(row)) {
      rows[kept++] = row;
      continue;
    }
    WaitRow& sum = rows[kept - 1];
    sum.time_ns += row.time_ns;
    sum.count += row.count;
    for (std::size_t i = 0; i < row.lengths.size(); ++i) sum.lengths[i] += row.lengths[i];
  }
  rows.resize(kept);
}

}  // namespace labelscope::cli
