#include "cli/answer/summary_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ostream>
#include <utility>

#include "cli/text/escape.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kShareColumn = 7;
constexpr std::size_t kTimeColumn = 10;
constexpr std::size_t kLeastName = 16;
constexpr std::size_t kBarWithoutTerminal = 24;
constexpr std::string_view kIndent = "    ";

WaitLengths waits_of(const std::string& value, const WaitsOfKey& waits, const Profile& profile) {
  WaitLengths all;
  const std::vector<WaitLengths>* lengths = waits.of(value);
  for (std::size_t kind = 0; lengths != nullptr && kind < lengths->size(); ++kind) {
    if (profile.values[kind] != value_of_kind(LS_RUNNABLE)) all.add((*lengths)[kind]);
  }
  return all;
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

// Things that another tool counts have longer names, and reach millions.
std::size_t count_width(const std::string& title, bool sampled) {
  if (sampled) return 9;
  return std::max<std::size_t>(13, std::min<std::size_t>(20, count_columns(title) + 2));
}

}  // namespace

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
  if (!idle.is_nothing()) {
    table.push_back({std::string(kIdleText), std::move(idle), true, {}, true});
  }
  return table;
}

SummaryTable::SummaryTable(const std::vector<TableRow>& rows, const LeafFunctions& functions,
                           const Profile& profile, const SummaryStyle& style)
    : rows_(rows),
      functions_(functions),
      profile_(profile),
      style_(style),
      whole_value_(profile.whole_value()),
      kinds_(kinds_of(rows, profile)),
      has_waits_(
          std::ranges::any_of(rows, [](const TableRow& row) { return row.waits.count() != 0; })),
      count_title_(escape_terminal(profile.counted)),
      count_width_(count_width(count_title_, profile.counts_samples())),
      error_width_(profile.counts_samples() ? 7 : 0) {
  for (const TableRow& row : rows_) {
    for (const auto& [name, part] : top_functions(row.amount, style_.functions)) {
      names_.add(functions_.text(name));
    }
    times_.push_back(row.is_outside ? 0 : row.amount.weight_ns);
  }
  shares_ = shares_of_1000(times_);
  whole_ = std::accumulate(times_.begin(), times_.end(), std::uint64_t{0});
}

std::string SummaryTable::name_of(FrameTree::Name name) const {
  return escape_terminal(names_.of(functions_.text(name)));
}

// The bar gets a quarter of the line if the values leave it; numbers are never cut.
void SummaryTable::measure(const std::string& title) {
  std::size_t widest = std::max(count_columns(title), kLeastName);
  for (const TableRow& row : rows_) {
    widest = std::max(widest, count_columns(row.value));
    for (const auto& [name, part] : top_functions(row.amount, style_.functions)) {
      widest = std::max(widest, kIndent.size() + count_columns(name_of(name)));
    }
  }
  const std::size_t columns = 1 + kinds_.size() + (has_waits_ ? 2 : 0);
  const std::size_t numbers =
      kShareColumn + error_width_ + columns * kTimeColumn + count_width_ + 2;
  const std::size_t free = style_.width > numbers ? style_.width - numbers : 0;
  if (style_.width == 0) {
    value_width_ = std::min(widest, kWidestText);
    bar_width_ = kBarWithoutTerminal;
  } else {
    value_width_ = std::max(kLeastName, std::min(widest, free * 3 / 4));
    bar_width_ = free > value_width_ ? free - value_width_ : 0;
  }
}

void SummaryTable::render(const std::string& title, const ErrorOf& error_of, std::ostream& out) {
  measure(title);
  render_head(title, out);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    render_row(i, error_of, out);
    if (!rows_[i].is_outside) render_functions(rows_[i], out);
  }
}

void SummaryTable::render_head(const std::string& title, std::ostream& out) const {
  out << paint(style_.color, kBold, value_cell(title)) << right("share", kShareColumn)
      << std::string(error_width_, ' ')
      << right(whole_value_.is_time() ? "time" : escape_terminal(whole_value_.unit), kTimeColumn);
  for (const std::size_t kind : kinds_) out << right(profile_.values[kind].name, kTimeColumn);
  if (has_waits_) out << right("p50 wait", kTimeColumn) << right("p99 wait", kTimeColumn);
  out << right(first_columns(count_title_, count_width_ - 1), count_width_) << '\n';
}

void SummaryTable::render_row(std::size_t index, const ErrorOf& error_of, std::ostream& out) const {
  const TableRow& row = rows_[index];
  std::string value = value_cell(row.value);
  if (row.ours) value = paint(style_.color, kDim, std::move(value));
  const std::string share = row.is_outside ? "-" : percent_text(shares_[index]);
  const std::string error = row.is_outside || error_width_ == 0
                                ? ""
                                : error_text(error_of(row.amount), style_.unicode);
  out << value << right(share, kShareColumn) << right(error, error_width_)
      << right(amount_text(row.amount.weight_ns, whole_value_.unit), kTimeColumn);
  for (const std::size_t kind : kinds_) {
    out << right(amount_text(row.amount.by_value[kind], whole_value_.unit), kTimeColumn);
  }
  for (const double part : {0.5, 0.99}) {
    if (!has_waits_) break;
    out << right(row.waits.count() == 0 ? "" : time_text(row.waits.quantile(part)), kTimeColumn);
  }
  out << right(std::to_string(row.amount.count), count_width_);
  const std::uint64_t largest = std::ranges::max(times_);
  const std::string drawn = bar(times_[index], largest, bar_width_, style_.unicode);
  if (!drawn.empty()) out << "  " << drawn;
  out << '\n';
}

void SummaryTable::render_functions(const TableRow& row, std::ostream& out) const {
  const std::size_t without_text = kinds_.size() + (has_waits_ ? 2 : 0);
  for (const auto& [name, part] : top_functions(row.amount, style_.functions)) {
    out << paint(style_.color, kDim, value_cell(std::string(kIndent) + name_of(name)))
        << right(percent_text(share_of_1000(part.weight_ns, whole_)), kShareColumn)
        << std::string(error_width_, ' ')
        << right(amount_text(part.weight_ns, whole_value_.unit), kTimeColumn)
        << std::string(without_text * kTimeColumn, ' ')
        << right(std::to_string(part.count), count_width_) << '\n';
  }
}

}  // namespace labelscope::cli
