// Checks indices, and adds rows up: first their places are counted out by label set, and then those
// of each label set are sorted by the rest. So what is sorted at once is small, and stays in the
// cache, and no row is copied.
#include "cli/format/common/rows.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "cli/profile/index_table.h"

namespace labelscope::cli {
namespace {

// Keeps the first fault that it finds.
class TableCheck {
 public:
  // The entry at `position` of its table refers to `index` of another one, or to nothing.
  void refers(std::string_view what, std::size_t position, std::string_view table, Index index,
              std::size_t table_size) {
    if (index == kNoIndex || index < table_size) return;
    fails(std::string(what) + ' ' + std::to_string(position) + " refers to " + std::string(table) +
          ' ' + std::to_string(index) + " of " + std::to_string(table_size));
  }
  void fails(std::string text) {
    if (status_) status_ = Error{ErrorCode::kMalformed, std::move(text)};
  }
  Status take() { return std::move(status_); }

 private:
  Status status_;
};

}  // namespace

Status check_tables(const Profile& profile) {
  TableCheck check;
  if (profile.values.empty() || profile.values.size() > kMostValueTypes) {
    check.fails("it has " + std::to_string(profile.values.size()) + " types of values");
  }
  for (std::size_t i = 0; i < profile.locations.size(); ++i) {
    check.refers("location", i, "module", profile.locations[i].module, profile.modules.size());
  }
  if (profile.program != kNoIndex && profile.program >= profile.modules.size()) {
    check.fails("the program is module " + std::to_string(profile.program) + " of " +
                std::to_string(profile.modules.size()));
  }
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    for (Index location : profile.stacks[i].frames) {
      check.refers("stack", i, "location", location, profile.locations.size());
      if (location == kNoIndex) {
        check.fails("stack " + std::to_string(i) + " has a frame without location");
      }
    }
  }
  for (std::size_t i = 0; i < profile.label_sets.size(); ++i) {
    const std::size_t labels = profile.label_sets[i].size();
    if (labels <= kMostLabels) continue;
    check.fails("label set " + std::to_string(i) + " has " + std::to_string(labels) +
                " labels; the most is " + std::to_string(kMostLabels));
  }
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    const SampleRow& row = profile.rows[i];
    check.refers("sample", i, "thread", row.thread, profile.threads.size());
    check.refers("sample", i, "stack", row.stack, profile.stacks.size());
    check.refers("sample", i, "label set", row.label_set, profile.label_sets.size());
    check.refers("sample", i, "value type", row.value, profile.values.size());
  }
  for (std::size_t i = 0; i < profile.waits.size(); ++i) {
    check.refers("waits", i, "process", profile.waits[i].process, profile.processes.size());
    check.refers("waits", i, "label set", profile.waits[i].label_set, profile.label_sets.size());
    check.refers("waits", i, "value type", profile.waits[i].value, profile.values.size());
  }
  const auto& ledgers = profile.thread_ledgers.threads();
  for (std::size_t i = 0; i < ledgers.size(); ++i)
    check.refers("thread ledger", i, "process", ledgers[i].entry, profile.processes.size());
  for (std::size_t i = 0; i < profile.blame.size(); ++i) {
    const BlameRow& row = profile.blame[i];
    check.refers("blame", i, "process", row.process, profile.processes.size());
    check.refers("blame", i, "process", row.by.process, profile.processes.size());
    check.refers("blame", i, "label set", row.label_set, profile.label_sets.size());
    check.refers("blame", i, "label set", row.by.label_set, profile.label_sets.size());
    check.refers("blame", i, "value type", row.value, profile.values.size());
  }
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    check.refers("thread", i, "process", profile.threads[i].process, profile.processes.size());
    check.refers("thread", i, "account", profile.threads[i].account, profile.threads.size());
  }
  return check.take();
}

Ledger ledger_of_rows(const Profile& profile) {
  Ledger ledger;
  constexpr unsigned kTruncated = LS_TRUNCATED_SLOTS | LS_TRUNCATED_LABELS | LS_TRUNCATED_BYTES;
  for (const SampleRow& row : profile.rows) {
    ledger.written += row.count;
    ledger.outcomes[row.outcome] += row.count;
    ledger.truncated += (row.flags & kTruncated) != 0 ? row.count : 0;
    ledger.time.attributed_ns += row.weight_ns;
    const ls_stack_end end =
        row.stack == kNoIndex ? LS_STACK_NOT_WANTED : profile.stacks[row.stack].end;
    if (end != LS_STACK_NOT_WANTED) {
      ledger.counters[stack_counter(end)] += row.count;
    }
  }
  ledger.taken = ledger.written;
  return ledger;
}

namespace {

// The parts by which rows of one label set are ordered, and where the row is.
struct PlaceOfRow {
  std::uint64_t thread_and_stack;  // the first of the two in the upper half
  std::uint32_t rest;
  Index row;
  auto identity() const { return std::pair(thread_and_stack, rest); }
};

// The parts of a row that remain, by the order of the result.
class RowKeys {
 public:
  RowKeys(const Profile& profile, const RowParts& parts)
      : rows_(profile.rows), parts_(parts), label_sets_(profile.label_sets.size()) {}

  // Rows without labels come last.
  std::size_t group_count() const { return parts_.label_set ? label_sets_ + 1 : 1; }
  std::size_t group(Index row) const {
    if (!parts_.label_set) return 0;
    return std::min<std::size_t>(rows_[row].label_set, label_sets_);
  }
  PlaceOfRow place(Index index) const {
    const SampleRow& row = rows_[index];
    const Index stack = parts_.stack ? row.stack : kNoIndex;
    const std::uint32_t flags = row.flags & parts_.flags;
    const Index first = parts_.stacks_first ? stack : row.thread;
    const Index second = parts_.stacks_first ? row.thread : stack;
    return {(std::uint64_t{first} << 32) | second,
            (flags << 16) | (std::uint32_t{row.outcome} << 8) | row.value, index};
  }
  SampleRow row(Index index) const {
    SampleRow row = rows_[index];
    row.time_ns = 0;
    if (!parts_.label_set) row.label_set = kNoIndex;
    if (!parts_.stack) row.stack = kNoIndex;
    row.flags &= parts_.flags;
    return row;
  }

 private:
  const std::vector<SampleRow>& rows_;
  const RowParts& parts_;
  std::size_t label_sets_;
};

// The places of all rows by group, and the end of each group.
struct GroupedRows {
  std::vector<Index> rows;
  std::vector<std::size_t> ends;
};

GroupedRows group_rows(const RowKeys& keys, std::size_t count) {
  GroupedRows grouped;
  grouped.rows.resize(count);
  grouped.ends.resize(keys.group_count() + 1);
  for (Index row = 0; row < count; ++row) ++grouped.ends[keys.group(row) + 1];
  std::partial_sum(grouped.ends.begin(), grouped.ends.end(), grouped.ends.begin());
  for (Index row = 0; row < count; ++row) grouped.rows[grouped.ends[keys.group(row)]++] = row;
  return grouped;
}

// So early each row is asked for.
constexpr std::size_t kRowsAhead = 8;

}  // namespace

void visit_aggregated_rows(const Profile& profile, const RowParts& parts,
                           const std::function<void(const SampleRow&)>& visit) {
  const RowKeys keys(profile, parts);
  const GroupedRows grouped = group_rows(keys, profile.rows.size());
  std::vector<PlaceOfRow> places;
  std::size_t next = 0;
  for (const std::size_t end : grouped.ends) {
    places.clear();
    for (; next < end; ++next) places.push_back(keys.place(grouped.rows[next]));
    std::ranges::sort(places, {}, &PlaceOfRow::identity);
    for (std::size_t i = 0; i < places.size();) {
      // In this order they are all over the memory.
      if (i + kRowsAhead < places.size()) prefetch(profile.rows[places[i + kRowsAhead].row]);
      SampleRow sum = keys.row(places[i].row);
      const auto identity = places[i].identity();
      for (++i; i < places.size() && places[i].identity() == identity; ++i) {
        const SampleRow& same = profile.rows[places[i].row];
        sum.count += same.count;
        sum.weight_ns += same.weight_ns;
      }
      visit(sum);
    }
  }
}

std::vector<SampleRow> aggregate_rows(const Profile& profile, const RowParts& parts) {
  std::vector<SampleRow> rows;
  visit_aggregated_rows(profile, parts, [&](const SampleRow& row) { rows.push_back(row); });
  return rows;
}

}  // namespace labelscope::cli
