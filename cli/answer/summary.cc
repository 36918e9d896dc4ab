// Tables for people, in which label bytes are escaped for the terminal before anything else is done
// with them.
#include "cli/answer/summary.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "cli/answer/summary_table.h"
#include "cli/answer/value_amounts.h"
#include "cli/answer/wait_lengths.h"
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
  const std::vector<TableRow> rows{{title, std::move(all), true}};
  SummaryTable(rows, functions, profile, style).render("function", no_error, out);
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
    SummaryTable(table, functions, profile, its).render(escape_terminal(keys[i]), error_of, out);
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
