// Checking indices, and adding up by one flat sort over small records (no strings, no hash tables).
#include "cli/format/rows.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostLabels = std::size_t{LS_MAX_LABELS} * LS_MAX_PUBLISHERS;

bool fits(Index index, std::size_t table_size) { return index == kNoIndex || index < table_size; }

Error bad_index(std::string_view what, std::size_t position, std::string_view table, Index index,
                std::size_t table_size) {
  std::string text(what);
  text += ' ' + std::to_string(position) + " refers to ";
  text += table;
  text += ' ' + std::to_string(index) + " of " + std::to_string(table_size);
  return Error{ErrorCode::kMalformed, std::move(text)};
}

auto identity(const AggregatedRow& row) {
  return std::tie(row.label_set, row.thread, row.stack, row.flags, row.outcome);
}

Status check_rows(const Profile& profile) {
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    const SampleRow& row = profile.rows[i];
    if (!fits(row.thread, profile.threads.size())) {
      return bad_index("sample", i, "thread", row.thread, profile.threads.size());
    }
    if (!fits(row.stack, profile.stacks.size())) {
      return bad_index("sample", i, "stack", row.stack, profile.stacks.size());
    }
    if (!fits(row.label_set, profile.label_sets.size())) {
      return bad_index("sample", i, "label set", row.label_set, profile.label_sets.size());
    }
  }
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    const Index account = profile.threads[i].account;
    if (!fits(account, profile.threads.size())) {
      return bad_index("thread", i, "account", account, profile.threads.size());
    }
  }
  return {};
}

}  // namespace

Status check_tables(const Profile& profile) {
  for (std::size_t i = 0; i < profile.locations.size(); ++i) {
    const Index module = profile.locations[i].module;
    if (!fits(module, profile.modules.size())) {
      return bad_index("location", i, "module", module, profile.modules.size());
    }
  }
  if (!fits(profile.program, profile.modules.size())) {
    return Error{ErrorCode::kMalformed, "the program is module " + std::to_string(profile.program) +
                                            " of " + std::to_string(profile.modules.size())};
  }
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    for (Index location : profile.stacks[i].frames) {
      if (location >= profile.locations.size()) {
        return bad_index("stack", i, "location", location, profile.locations.size());
      }
    }
  }
  for (std::size_t i = 0; i < profile.label_sets.size(); ++i) {
    if (profile.label_sets[i].size() > kMostLabels) {
      return Error{ErrorCode::kMalformed, "label set " + std::to_string(i) + " has " +
                                              std::to_string(profile.label_sets[i].size()) +
                                              " labels; the most is " +
                                              std::to_string(kMostLabels)};
    }
  }
  return check_rows(profile);
}

std::vector<AggregatedRow> aggregate_rows(const Profile& profile, const RowParts& parts) {
  std::vector<AggregatedRow> rows;
  rows.reserve(profile.rows.size());
  for (const SampleRow& row : profile.rows) {
    AggregatedRow key;
    if (parts.label_set) key.label_set = row.label_set;
    key.thread = row.thread;
    if (parts.stack) key.stack = row.stack;
    key.flags = row.flags & parts.flags;
    key.outcome = row.outcome;
    key.count = row.count;
    key.weight_ns = row.weight_ns;
    rows.push_back(key);
  }
  std::sort(rows.begin(), rows.end(), [](const AggregatedRow& a, const AggregatedRow& b) {
    return identity(a) < identity(b);
  });

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
