// The summary for programs, with all values and all bytes: a line of JSON for each key.
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

#include "cli/answer/summary.h"
#include "cli/answer/value_amounts.h"
#include "cli/answer/wait_lengths.h"
#include "cli/format/common/json_values.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// A line of JSON shows this many functions of each value.
constexpr std::size_t kFunctionsInJson = 10;

// The samples of a profile, and what all keys have in common.
class JsonSummary {
 public:
  explicit JsonSummary(const Profile& profile)
      : profile_(profile),
        rows_(aggregate_rows(profile, {.flags = LS_STILL_WAITING})),
        labels_(profile),
        functions_(profile),
        idle_(profile, IdleRows::What::kFolded),
        errors_(errors_of(rows_, labels_, idle_)) {
    for (const SampleRow& row : rows_) {
      if (idle_.contains(row)) continue;
      samples_ += row.count;
      time_ns_ += row.weight_ns;
    }
  }

  Json line_of(const std::string& key) {
    const Grouped grouped = group_by_value(labels_, functions_, rows_, key, idle_);
    const WaitsOfKey waits(profile_, labels_, key, &idle_);
    const bool divides_totals = is_key_of_samples(key);
    const auto amount_json = [&](const Amount& amount) {
      Json json = begin(amount);
      if (profile_.counts_samples()) {
        json["share_error"] = errors_.of(amount.by_account, divides_totals);
      }
      json["functions"] = of_functions(amount);
      add_times(amount, json);
      return json;
    };
    const auto value_json = [&](const auto& value) {
      Json entry{{"value", bytes_json(value.first)}};
      entry.update(amount_json(value.second));
      if (const auto* lengths = waits.of(value.first)) entry["waits"] = of_waits(*lengths);
      return entry;
    };
    Json line{{"key", bytes_json(key)},
              {"samples", samples_},
              {"time_ns", time_ns_},
              {"values", array_json(grouped.values, value_json)},
              {"without", amount_json(grouped.without)},
              {"unreadable", amount_json(grouped.unreadable)}};
    if (!grouped.idle.is_nothing()) {
      // It is no part of a share, so there is no error of one.
      Json json = begin(grouped.idle);
      add_times(grouped.idle, json);
      line["idle"] = std::move(json);
    }
    return line;
  }

 private:
  static Json begin(const Amount& amount) {
    return {{"samples", amount.count}, {"time_ns", amount.weight_ns}};
  }

  void add_times(const Amount& amount, Json& json) const {
    for (std::size_t i = 0; i < profile_.kind_count(); ++i) {
      json["times_ns"][profile_.values[i].name] = amount.by_value[i];
    }
  }

  Json of_functions(const Amount& amount) const {
    return array_json(top_functions(amount, kFunctionsInJson), [&](const auto& function) {
      return Json{{"name", bytes_json(functions_.text(function.first))},
                  {"samples", function.second.count},
                  {"time_ns", function.second.weight_ns}};
    });
  }

  Json of_waits(const std::vector<WaitLengths>& lengths) const {
    Json json = Json::object();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i].count() == 0) continue;
      json[profile_.values[i].name] = {{"count", lengths[i].count()},
                                       {"p50_ns", lengths[i].quantile(0.5)},
                                       {"p99_ns", lengths[i].quantile(0.99)}};
    }
    return json;
  }

  const Profile& profile_;
  std::vector<SampleRow> rows_;
  RowLabels labels_;
  LeafFunctions functions_;
  IdleRows idle_;
  ShareError errors_;
  std::uint64_t samples_ = 0;
  std::uint64_t time_ns_ = 0;
};

}  // namespace

Status render_summary_json(const Profile& profile, const std::vector<std::string>& keys,
                           std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  JsonSummary summary(profile);
  for (const std::string& key : keys) out << json_text(summary.line_of(key)) << '\n';
  return flush_output(out);
}

}  // namespace labelscope::cli
