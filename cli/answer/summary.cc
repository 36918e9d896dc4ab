// Tables for people, in which label bytes are escaped for the terminal before anything else is done
// with them; and the same as JSON for programs, with all values and all bytes.
#include "cli/answer/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "cli/answer/wait_lengths.h"
#include "cli/format/common/frame_tree.h"
#include "cli/format/common/json_values.h"
#include "cli/format/common/leaf_functions.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/profile/idle.h"
#include "cli/profile/key_use.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// A line of JSON shows this many functions of each value.
constexpr std::size_t kFunctionsInJson = 10;

// What all samples with one value add up to.
struct Amount {
  std::uint64_t count = 0;
  std::uint64_t weight_ns = 0;
  std::map<Index, std::uint64_t> by_account;  // the weight by thread account
  // the weight by value type (Profile::values)
  std::array<std::uint64_t, kMostValueTypes> by_value{};
  struct Part {
    std::uint64_t count = 0;
    std::uint64_t weight_ns = 0;
  };
  std::map<FrameTree::Name, Part> by_function;

  void add(const SampleRow& row, Index account, FrameTree::Name function) {
    count += row.count;
    weight_ns += row.weight_ns;
    by_account[account] += row.weight_ns;
    by_value[row.value] += row.weight_ns;
    Part& part = by_function[function];
    part.count += row.count;
    part.weight_ns += row.weight_ns;
  }
  // Waits that were not sampled have a time, and no samples.
  bool is_nothing() const { return count == 0 && weight_ns == 0; }
  // Leaves functions out: they are only shown for single values.
  void add(const Amount& other) {
    count += other.count;
    weight_ns += other.weight_ns;
    for (const auto& [account, part] : other.by_account) by_account[account] += part;
    for (std::size_t i = 0; i < by_value.size(); ++i) by_value[i] += other.by_value[i];
  }
};

// A key of the summary: each value with its samples, and the samples that have no value.
struct Grouped {
  std::vector<std::pair<std::string, Amount>> values;  // the one with most time first
  Amount without;
  Amount unreadable;
  Amount idle;  // waits for work, which are no part of any share
};

// Sorts values and keys: the one with more time first.
constexpr auto kMoreTime = [](const auto& a, const auto& b) {
  return a.second.weight_ns > b.second.weight_ns;
};

using TopFunctions = std::vector<std::pair<FrameTree::Name, Amount::Part>>;

// Returns the functions with most time, the largest first.
TopFunctions top_functions(const Amount& amount, std::size_t most) {
  TopFunctions top(amount.by_function.begin(), amount.by_function.end());
  std::stable_sort(top.begin(), top.end(), kMoreTime);
  top.resize(std::min(top.size(), most));
  return top;
}

Grouped group_by_value(const RowLabels& labels, LeafFunctions& functions,
                       const std::vector<SampleRow>& rows, std::string_view key,
                       const IdleRows& idle) {
  Grouped grouped;
  std::map<std::string, Amount> by_value;
  for (const SampleRow& row : rows) {
    const Index account = labels.account(row);
    if (idle.contains(row)) {
      grouped.idle.add(row, account, functions.of(row));
    } else if (std::optional<std::string> value = labels.value(row, key)) {
      by_value[*std::move(value)].add(row, account, functions.of(row));
    } else {
      (is_unreadable(row.outcome) ? grouped.unreadable : grouped.without)
          .add(row, account, functions.of(row));
    }
  }
  grouped.values.assign(std::make_move_iterator(by_value.begin()),
                        std::make_move_iterator(by_value.end()));
  std::stable_sort(grouped.values.begin(), grouped.values.end(), kMoreTime);
  return grouped;
}

struct TableRow {
  std::string value;  // escaped
  Amount amount;
  bool ours = false;    // a remark of ours and not a value
  WaitLengths waits{};  // of waits for anything but a processor
  bool is_outside = false;  // of the whole
};

WaitLengths waits_of(const std::string& value, const WaitsOfKey& waits, const Profile& profile) {
  WaitLengths all;
  const std::vector<WaitLengths>* lengths = waits.of(value);
  for (std::size_t kind = 0; lengths != nullptr && kind < lengths->size(); ++kind) {
    if (profile.values[kind] != time_value(LS_RUNNABLE)) all.add((*lengths)[kind]);
  }
  return all;
}

std::vector<TableRow> table_rows(Grouped&& grouped, std::size_t max_values, const WaitsOfKey& waits,
                                 const Profile& profile) {
  auto& [values, without, unreadable, idle] = grouped;
  std::vector<TableRow> table;
  const std::size_t shown = std::min(values.size(), max_values);
  for (std::size_t i = 0; i < shown; ++i) {
    auto& [value, amount] = values[i];
    table.push_back(
        {shown_value(value), std::move(amount), false, waits_of(value, waits, profile)});
  }
  if (shown < values.size()) {
    TableRow rest{"(" + std::to_string(values.size() - shown) + " other values)", {}, true};
    for (std::size_t i = shown; i < values.size(); ++i) rest.amount.add(values[i].second);
    table.push_back(std::move(rest));
  }
  if (!without.is_nothing()) table.push_back({std::string(kUnsetText), std::move(without), true});
  if (!unreadable.is_nothing()) table.push_back({"(unreadable)", std::move(unreadable), true});
  if (!idle.is_nothing()) table.push_back({std::string(kIdleText), std::move(idle), true, {}, true});
  return table;
}

// Writes "±1.1", in percentage points.
std::string error_text(double error, bool unicode) {
  return (unicode ? "±" : "+-") + decimal(100 * error, 1);
}

std::string bar(std::uint64_t part, std::uint64_t largest, std::size_t width, bool unicode) {
  if (largest == 0) return {};
  const double filled = static_cast<double>(part) / static_cast<double>(largest);
  const auto eighths =
      static_cast<std::size_t>(std::lround(filled * static_cast<double>(width * 8)));
  if (!unicode) return std::string((eighths + 4) / 8, '#');
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kParts[eighths % 8];
  return text;
}

// Returns the value types that have a column: all of several, but for those that nothing has.
std::vector<std::size_t> kinds_of(const std::vector<TableRow>& table, const Profile& profile) {
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < profile.kind_count(); ++i) {
    const bool any = std::ranges::any_of(
        table, [&](const TableRow& row) { return row.amount.by_value[i] != 0; });
    if (any) kinds.push_back(i);
  }
  return kinds;
}

// If there are several kinds of time, each has a column behind the one of their sum. If waits were
// counted by length, two more columns have the median, and what 99 of 100 do not exceed.
void render_table(const std::string& title, const std::vector<TableRow>& table,
                  const LeafFunctions& functions,
                  const std::function<double(const Amount&)>& error_of, const Profile& profile,
                  const SummaryStyle& style, std::ostream& out) {
  const ValueType whole_value = profile.whole_value();
  const std::string& unit = whole_value.unit;
  const std::vector<std::size_t> kinds = kinds_of(table, profile);
  const bool has_waits =
      std::ranges::any_of(table, [](const TableRow& row) { return row.waits.count() != 0; });
  const std::size_t columns = kinds.size() + (has_waits ? 2 : 0);
  const bool sampled = profile.counts_samples();
  const std::string count_title = escape_terminal(profile.counted);
  constexpr std::size_t kShareColumn = 7;
  constexpr std::size_t kTimeColumn = 10;
  const std::size_t error_width = sampled ? 7 : 0;
  // Things that another tool counts have longer names, and reach millions.
  const std::size_t count_width =
      sampled
          ? 9
          : std::max<std::size_t>(13, std::min<std::size_t>(20, count_columns(count_title) + 2));
  const std::size_t numbers_width =
      kShareColumn + error_width + (1 + columns) * kTimeColumn + count_width + 2;
  constexpr std::size_t kLeastName = 16;
  constexpr const char* kIndent = "    ";
  ShortNames names;
  for (const TableRow& row : table) {
    for (const auto& [name, part] : top_functions(row.amount, style.functions)) {
      names.add(functions.text(name));
    }
  }
  std::size_t widest = std::max(count_columns(title), kLeastName);
  std::uint64_t largest = 0;
  std::vector<std::uint64_t> times;
  for (const TableRow& row : table) {
    widest = std::max(widest, count_columns(row.value));
    for (const auto& [name, part] : top_functions(row.amount, style.functions)) {
      widest = std::max(widest, 4 + count_columns(escape_terminal(names.of(functions.text(name)))));
    }
    times.push_back(row.is_outside ? 0 : row.amount.weight_ns);
    largest = std::max(largest, times.back());
  }
  // The bar gets a quarter of the line if the values leave it; numbers are never cut.
  const std::size_t free = style.width > numbers_width ? style.width - numbers_width : 0;
  const std::size_t value_width = style.width == 0
                                      ? std::min(widest, kWidestText)
                                      : std::max(kLeastName, std::min(widest, free * 3 / 4));
  const auto value_cell = [&](std::string_view text) { return fitted(text, value_width, style); };
  constexpr std::size_t kBarWithoutTerminal = 24;
  const std::size_t bar_width = style.width == 0     ? kBarWithoutTerminal
                                : free > value_width ? free - value_width
                                                     : 0;
  const std::vector<std::uint64_t> shares = shares_of_1000(times);
  const std::uint64_t whole = std::accumulate(times.begin(), times.end(), std::uint64_t{0});

  out << paint(style.color, kBold, value_cell(title)) << right("share", kShareColumn)
      << std::string(error_width, ' ')
      << right(whole_value.is_time() ? "time" : escape_terminal(unit), kTimeColumn);
  for (const std::size_t kind : kinds) out << right(profile.values[kind].name, kTimeColumn);
  if (has_waits) out << right("p50 wait", kTimeColumn) << right("p99 wait", kTimeColumn);
  out << right(first_columns(count_title, count_width - 1), count_width) << '\n';
  for (std::size_t i = 0; i < table.size(); ++i) {
    const TableRow& row = table[i];
    std::string value = value_cell(row.value);
    if (row.ours) value = paint(style.color, kDim, std::move(value));
    const std::string share = row.is_outside ? "-" : percent_text(shares[i]);
    const std::string error =
        row.is_outside || !sampled ? "" : error_text(error_of(row.amount), style.unicode);
    std::string line =
        value + right(share, kShareColumn) + right(error, error_width) +
        right(amount_text(row.amount.weight_ns, unit), kTimeColumn);
    for (const std::size_t kind : kinds) {
      line += right(amount_text(row.amount.by_value[kind], unit), kTimeColumn);
    }
    for (const double part : {0.5, 0.99}) {
      if (!has_waits) break;
      line += right(row.waits.count() == 0 ? "" : time_text(row.waits.quantile(part)), kTimeColumn);
    }
    line += right(std::to_string(row.amount.count), count_width);
    const std::string drawn = bar(times[i], largest, bar_width, style.unicode);
    if (!drawn.empty()) line += "  " + drawn;
    out << line << '\n';
    if (row.is_outside) continue;
    for (const auto& [name, part] : top_functions(row.amount, style.functions)) {
      const std::string text = kIndent + escape_terminal(names.of(functions.text(name)));
      out << paint(style.color, kDim, value_cell(text))
          << right(percent_text(share_of_1000(part.weight_ns, whole)), kShareColumn)
          << std::string(error_width, ' ') << right(amount_text(part.weight_ns, unit), kTimeColumn)
          << std::string(columns * kTimeColumn, ' ')
          << right(std::to_string(part.count), count_width) << '\n';
    }
  }
}

Json functions_json(const Amount& amount, const LeafFunctions& functions) {
  return array_json(top_functions(amount, kFunctionsInJson), [&](const auto& function) {
    return Json{{"name", bytes_json(functions.text(function.first))},
                {"samples", function.second.count},
                {"time_ns", function.second.weight_ns}};
  });
}

ShareError errors_of(const std::vector<SampleRow>& rows, const RowLabels& labels,
                     const IdleRows& idle) {
  ShareError errors;
  for (const SampleRow& row : rows) {
    if (idle.contains(row)) continue;
    const Index account = labels.account(row);
    // What is exact has no error, like a total that has no sample.
    const std::uint64_t samples = account == RowLabels::kExact ? 0 : row.count;
    errors.add_whole(account, row.weight_ns, samples, labels.is_of_total(row));
  }
  return errors;
}

// Shows the functions of all samples.
void render_functions(const Profile& profile, SummaryStyle style, std::ostream& out) {
  constexpr std::size_t kAlone = 3;  // as many lines as three values would have below them
  const RowLabels labels(profile);
  LeafFunctions functions(profile);
  Amount all;
  for (const SampleRow& row : profile.rows) {
    all.add(row, labels.account(row), functions.of(row));
  }
  style.functions *= kAlone;
  const std::string title = "(all " + escape_terminal(profile.counted) + ")";
  const auto no_error = [](const Amount&) { return 0; };  // it is the whole
  render_table("function", {{title, std::move(all), true}}, functions, no_error, profile, style,
               out);
}

// Shows which service each process is, if the process has published that.
void render_services(const Profile& profile, std::ostream& out) {
  std::set<std::string> lines;  // a process that has executed a program may say the same again
  for (const Process& process : profile.processes) {
    std::string line;
    for (const auto& [key, value] : process.attributes) {
      if (!key.starts_with("service.") && !key.starts_with("deployment.")) continue;
      line +=
          (line.empty() ? "" : "  ") + escape_terminal(std::string(key).append("=").append(value));
    }
    if (line.empty()) continue;
    line = "process " + std::to_string(raw(process.pid)) + ": " + line + '\n';
    if (lines.insert(line).second) out << line;
  }
  if (!lines.empty()) out << '\n';
}

}  // namespace

std::string fitted(std::string_view text, std::size_t width, const SummaryStyle& style) {
  if (style.width != 0) return cell(text, width, style.unicode);
  std::string whole = left(text, width);
  if (count_columns(text) > width) whole += '\n' + std::string(width, ' ');
  return whole;
}

Status render_summary(const Profile& profile, const std::vector<std::string>& keys,
                      const SummaryStyle& style, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::vector<SampleRow> rows = aggregate_rows(profile, {.flags = LS_STILL_WAITING});
  if (rows.empty()) {
    out << "no samples\n";
    return flush_output(out);
  }
  const RowLabels labels(profile);
  LeafFunctions functions(profile);
  render_services(profile, out);
  const IdleRows idle(profile, IdleRows::What::kFolded);
  const ShareError errors = errors_of(rows, labels, idle);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out << '\n';
    Grouped grouped = group_by_value(labels, functions, rows, keys[i], idle);
    SummaryStyle its = style;
    if (keys[i] == kFunctionKey) its.functions = 0;  // a function has one function below it: itself
    const WaitsOfKey waits(profile, labels, keys[i], &idle);
    const auto table = table_rows(std::move(grouped), style.max_values, waits, profile);
    const auto error_of = [&](const Amount& amount) {
      return errors.of(amount.by_account, is_key_of_samples(keys[i]));
    };
    render_table(escape_terminal(keys[i]), table, functions, error_of, profile, its, out);
  }
  return flush_output(out);
}

Status render_summary_json(const Profile& profile, const std::vector<std::string>& keys,
                           std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::vector<SampleRow> rows = aggregate_rows(profile, {.flags = LS_STILL_WAITING});
  const RowLabels labels(profile);
  LeafFunctions functions(profile);
  const IdleRows idle(profile, IdleRows::What::kFolded);
  const ShareError errors = errors_of(rows, labels, idle);
  std::uint64_t samples = 0;
  std::uint64_t time_ns = 0;
  for (const SampleRow& row : rows) {
    if (idle.contains(row)) continue;
    samples += row.count;
    time_ns += row.weight_ns;
  }
  bool divides_totals = false;
  const auto amount_json = [&](const Amount& amount) {
    Json json{{"samples", amount.count}, {"time_ns", amount.weight_ns}};
    if (profile.counts_samples())
      json["share_error"] = errors.of(amount.by_account, divides_totals);
    json["functions"] = functions_json(amount, functions);
    for (std::size_t i = 0; i < profile.kind_count(); ++i) {
      json["times_ns"][profile.values[i].name] = amount.by_value[i];
    }
    return json;
  };
  // It is no part of a share, so there is no error of one.
  const auto idle_json = [&](const Amount& amount) {
    Json json = amount_json(amount);
    json.erase("share_error");
    json.erase("functions");
    return json;
  };
  const auto waits_json = [&](const std::vector<WaitLengths>& lengths) {
    Json json = Json::object();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i].count() == 0) continue;
      json[profile.values[i].name] = {{"count", lengths[i].count()},
                                      {"p50_ns", lengths[i].quantile(0.5)},
                                      {"p99_ns", lengths[i].quantile(0.99)}};
    }
    return json;
  };
  for (const std::string& key : keys) {
    const Grouped grouped = group_by_value(labels, functions, rows, key, idle);
    const WaitsOfKey waits(profile, labels, key, &idle);
    divides_totals = is_key_of_samples(key);
    Json line{{"key", bytes_json(key)},
                    {"samples", samples},
                    {"time_ns", time_ns},
                    {"values", array_json(grouped.values,
                                          [&](const auto& value) {
                                            Json entry{{"value", bytes_json(value.first)}};
                                            entry.update(amount_json(value.second));
                                            if (const auto* lengths = waits.of(value.first)) {
                                              entry["waits"] = waits_json(*lengths);
                                            }
                                            return entry;
                                          })},
                    {"without", amount_json(grouped.without)},
                    {"unreadable", amount_json(grouped.unreadable)}};
    if (!grouped.idle.is_nothing()) line["idle"] = idle_json(grouped.idle);
    out << json_text(line) << '\n';
  }
  return flush_output(out);
}

Status render_label_keys(const Profile& profile, const SummaryStyle& style, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  const std::map<std::string_view, KeyUse> keys = count_keys(profile);
  const ValueType whole_value = profile.whole_value();
  std::uint64_t samples = 0;
  std::uint64_t time_ns = 0;
  for (const SampleRow& row : profile.rows) {
    samples += row.count;
    time_ns += row.weight_ns;
  }
  if (keys.empty()) {
    out << "no labels in " << count_text(samples, profile) << '\n';
    if (style.functions != 0 && samples != 0) render_functions(profile, style, out);
    return flush_output(out);
  }
  std::vector<std::pair<std::string_view, KeyUse>> order(keys.begin(), keys.end());
  std::stable_sort(order.begin(), order.end(), kMoreTime);
  std::size_t width = 0;
  for (const auto& [key, use] : order) width = std::max(width, count_columns(shown_value(key)));
  width =
      std::min(width, style.width == 0 ? kWidestText : std::max<std::size_t>(style.width / 2, 16));
  for (const auto& [key, use] : order) {
    const std::size_t count = use.values.size();
    const std::string shown = shown_value(key);
    out << fitted(shown, width, style)
        << right(percent_text(share_of_1000(use.weight_ns, time_ns)), 8)
        << (whole_value.is_time() ? " of the time, " : " of " + whole_value.name + ", ")
        << counted(count, "value", "values") << '\n';
    if (count <= kManyLabelSets) continue;
    out << paint(style.color, kYellow,
                 "  more than " + std::to_string(kManyLabelSets) +
                     " values: profile viewers get slow; summarize or group by another key")
        << '\n';
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
