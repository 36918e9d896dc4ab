// The tables of --summary for programs: a line of JSON for each key, with all values and all bytes.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/format/json_values.h"
#include "cli/format/row_labels.h"
#include "cli/format/rows.h"
#include "cli/format/summary.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Amount {
  std::uint64_t samples = 0;
  std::uint64_t time_ns = 0;

  void add(const AggregatedRow& row) {
    samples += row.count;
    time_ns += row.weight_ns;
  }
  Json json() const { return Json{{"samples", samples}, {"time_ns", time_ns}}; }
};

Json key_json(const RowLabels& labels, const std::vector<AggregatedRow>& rows,
              const std::string& key) {
  std::map<std::string, Amount> by_value;
  Amount without;
  Amount unreadable;
  for (const AggregatedRow& row : rows) {
    if (std::optional<std::string> value = labels.value(row, key)) {
      by_value[*std::move(value)].add(row);
    } else {
      (is_unreadable(row.outcome) ? unreadable : without).add(row);
    }
  }
  std::vector<std::pair<std::string_view, Amount>> order(by_value.begin(), by_value.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.time_ns > b.second.time_ns;
  });
  Json values = Json::array();
  for (const auto& [value, amount] : order) {
    Json entry{{"value", bytes_json(value)}};
    entry.update(amount.json());
    values.push_back(std::move(entry));
  }
  return Json{{"key", bytes_json(key)},
              {"values", std::move(values)},
              {"without", without.json()},
              {"unreadable", unreadable.json()}};
}

}  // namespace

Status render_summary_json(const Profile& profile, const std::vector<std::string>& keys,
                           std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::vector<AggregatedRow> rows = aggregate_rows(profile, {.stack = false, .flags = 0});
  const RowLabels labels(profile);
  for (const std::string& key : keys) {
    out << key_json(labels, rows, key).dump() << '\n';
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
