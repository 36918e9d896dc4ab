// Checks indices, and adds rows up by one flat sort over small records (no strings, no hash
// tables).
#include "cli/format/common/rows.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

namespace labelscope::cli {
namespace {

auto identity(const SampleRow& row) {
  return std::tie(row.label_set, row.thread, row.stack, row.flags, row.outcome, row.value);
}

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
    check.refers("waits", i, "label set", profile.waits[i].label_set, profile.label_sets.size());
    check.refers("waits", i, "value type", profile.waits[i].value, profile.values.size());
  }
  for (std::size_t i = 0; i < profile.blame.size(); ++i) {
    const BlameRow& row = profile.blame[i];
    check.refers("blame", i, "label set", row.label_set, profile.label_sets.size());
    check.refers("blame", i, "label set", row.by.label_set, profile.label_sets.size());
    check.refers("blame", i, "value type", row.value, profile.values.size());
  }
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
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

std::vector<SampleRow> aggregate_rows(const Profile& profile, const RowParts& parts) {
  std::vector<SampleRow> rows = profile.rows;
  for (SampleRow& row : rows) {
    row.time_ns = 0;
    if (!parts.label_set) row.label_set = kNoIndex;
    if (!parts.stack) row.stack = kNoIndex;
    row.flags &= parts.flags;
  }
  std::sort(rows.begin(), rows.end(),
            [](const SampleRow& a, const SampleRow& b) { return identity(a) < identity(b); });

  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && identity(rows[kept - 1]) == identity(rows[i])) {
      rows[kept - 1].count += rows[i].count;
      rows[kept - 1].weight_ns += rows[i].weight_ns;
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
  return rows;
}

}  // namespace labelscope::cli
