// Tables for people. Label bytes are escaped for the terminal before anything else is done with
// them.
#include "cli/format/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "cli/format/escape.h"
#include "cli/format/output.h"
#include "cli/format/row_labels.h"
#include "cli/format/rows.h"
#include "cli/format/shares.h"

namespace labelscope::cli {
namespace {

// Above this, `go tool pprof` and the viewers built on it take minutes.
constexpr std::size_t kManyValues = 10000;

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kReset = "\x1b[0m";

std::string paint(const SummaryStyle& style, std::string_view color, std::string text) {
  if (!style.color) return text;
  return std::string(color) + text + std::string(kReset);
}

struct TableRow {
  std::string value;  // escaped
  std::uint64_t count = 0;
  bool ours = false;  // says something about the samples, is not a value
};

// Rows of our own are in parentheses, so a value that looks like one is put in quotes.
std::string shown_value(std::string_view value) {
  if (value.empty()) return std::string(kEmptyText);
  std::string safe = escape_terminal(value);
  return safe.front() == '(' ? '"' + safe + '"' : safe;
}

std::vector<TableRow> table_rows(const RowLabels& labels, const std::vector<AggregatedRow>& rows,
                                 std::string_view key, std::size_t max_values) {
  std::map<std::string, std::uint64_t> by_value;
  std::uint64_t without = 0;
  std::uint64_t unreadable = 0;
  for (const AggregatedRow& row : rows) {
    if (std::optional<std::string> value = labels.value(row, key)) {
      by_value[*std::move(value)] += row.count;
    } else {
      (is_unreadable(row.outcome) ? unreadable : without) += row.count;
    }
  }
  std::vector<std::pair<std::string_view, std::uint64_t>> values(by_value.begin(), by_value.end());
  std::stable_sort(values.begin(), values.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });

  std::vector<TableRow> table;
  const std::size_t shown = std::min(values.size(), max_values);
  for (std::size_t i = 0; i < shown; ++i) {
    table.push_back({shown_value(values[i].first), values[i].second, false});
  }
  if (shown < values.size()) {
    TableRow rest{"(" + std::to_string(values.size() - shown) + " other values)", 0, true};
    for (std::size_t i = shown; i < values.size(); ++i) rest.count += values[i].second;
    table.push_back(std::move(rest));
  }
  if (without > 0) table.push_back({"(no such label)", without, true});
  if (unreadable > 0) table.push_back({"(unreadable)", unreadable, true});
  return table;
}

std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool unicode) {
  if (largest == 0) return {};
  const double filled = static_cast<double>(count) / static_cast<double>(largest);
  const auto eighths =
      static_cast<std::size_t>(std::lround(filled * static_cast<double>(width * 8)));
  if (!unicode) return std::string((eighths + 4) / 8, '#');
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kParts[eighths % 8];
  return text;
}

// Cut or filled up to `width` characters.
std::string cell(std::string_view text, std::size_t width, bool unicode) {
  const std::string_view dots = unicode ? "…" : "...";
  std::string out(text);
  if (count_characters(text) > width) {
    out = first_characters(text, width - count_characters(dots));
    out += dots;
  }
  out.append(width - std::min(width, count_characters(out)), ' ');
  return out;
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

void render_table(const std::string& key, const std::vector<TableRow>& table,
                  std::uint64_t period_ns, const SummaryStyle& style, std::ostream& out) {
  constexpr std::size_t kShareWidth = 7;
  constexpr std::size_t kTimeWidth = 10;
  constexpr std::size_t kCountWidth = 10;
  constexpr std::size_t kNumbersWidth = kShareWidth + kTimeWidth + kCountWidth + 2;
  constexpr std::size_t kLeastWidth = 16;
  const std::string title = escape_terminal(key);
  std::size_t widest = std::max(count_characters(title), kLeastWidth);
  std::uint64_t largest = 0;
  std::vector<std::uint64_t> counts;
  for (const TableRow& row : table) {
    widest = std::max(widest, count_characters(row.value));
    largest = std::max(largest, row.count);
    counts.push_back(row.count);
  }
  // A third of the line for the bar, if the values leave it; numbers never yield.
  const std::size_t free = style.width > kNumbersWidth ? style.width - kNumbersWidth : 0;
  const std::size_t value_width = std::max(kLeastWidth, std::min(widest, free * 2 / 3));
  const std::size_t bar_width = free > value_width ? free - value_width : 0;
  const std::vector<std::uint64_t> shares = shares_of_1000(counts);

  out << paint(style, kBold, cell(title, value_width, style.unicode)) << right("share", kShareWidth)
      << right("time", kTimeWidth) << right("samples", kCountWidth) << '\n';
  for (std::size_t i = 0; i < table.size(); ++i) {
    const TableRow& row = table[i];
    std::string value = cell(row.value, value_width, style.unicode);
    if (row.ours) value = paint(style, kDim, std::move(value));
    std::string line = value + right(percent_text(shares[i]), kShareWidth) +
                       right(time_text(row.count, period_ns), kTimeWidth) +
                       right(std::to_string(row.count), kCountWidth);
    const std::string drawn = bar(row.count, largest, bar_width, style.unicode);
    if (!drawn.empty()) line += "  " + drawn;
    out << line << '\n';
  }
}

struct KeyUse {
  std::uint64_t count = 0;
  std::set<std::string_view> values;
};

std::map<std::string_view, KeyUse> count_keys(const Profile& profile) {
  std::vector<std::uint64_t> by_set(profile.label_sets.size());
  for (const SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex) by_set[row.label_set] += row.count;
  }
  std::map<std::string_view, KeyUse> keys;
  for (std::size_t i = 0; i < by_set.size(); ++i) {
    if (by_set[i] == 0) continue;
    std::set<std::string_view> counted;  // a key of two publishers is still one sample
    for (const Label& label : profile.label_sets[i]) {
      KeyUse& use = keys[label.key];
      use.values.insert(label.value);
      if (counted.insert(label.key).second) use.count += by_set[i];
    }
  }
  return keys;
}

std::uint64_t count_samples(const Profile& profile) {
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) count += row.count;
  return count;
}

}  // namespace

Status render_summary(const Profile& profile, const std::vector<std::string>& keys,
                      const SummaryStyle& style, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::vector<AggregatedRow> rows = aggregate_rows(profile, {.stack = false, .flags = 0});
  if (rows.empty()) {
    out << "no samples\n";
    return flush_output(out);
  }
  const RowLabels labels(profile);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out << '\n';
    render_table(keys[i], table_rows(labels, rows, keys[i], style.max_values), profile.period_ns,
                 style, out);
  }
  return flush_output(out);
}

Status render_label_keys(const Profile& profile, const SummaryStyle& style, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::uint64_t samples = count_samples(profile);
  const std::map<std::string_view, KeyUse> keys = count_keys(profile);
  if (keys.empty()) {
    out << "no labels in " << samples << (samples == 1 ? " sample" : " samples") << '\n';
    return flush_output(out);
  }
  std::vector<const std::pair<const std::string_view, KeyUse>*> order;
  std::size_t width = 0;
  for (const auto& entry : keys) {
    order.push_back(&entry);
    width = std::max(width, count_characters(shown_value(entry.first)));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.count > b->second.count; });
  width = std::min(width, std::max<std::size_t>(style.width / 2, 16));
  for (const auto* entry : order) {
    const KeyUse& use = entry->second;
    const std::size_t values = use.values.size();
    out << cell(shown_value(entry->first), width, style.unicode)
        << right(percent_text(coverage_of_1000(use.count, samples)), 8) << " of samples, " << values
        << (values == 1 ? " value" : " values") << '\n';
    if (values > kManyValues) {
      out << paint(style, kYellow,
                   "  more than " + std::to_string(kManyValues) +
                       " values: profile viewers get slow; summarize or group by another key")
          << '\n';
    }
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
