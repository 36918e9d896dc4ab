// A comparison for people, and for programs.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <tuple>

#include "cli/answer/comparison.h"
#include "cli/format/common/json_values.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kShareWidth = 8;
constexpr std::size_t kAmountWidth = 11;
constexpr std::size_t kSharesWidth = 3 * kShareWidth + 2;
constexpr std::size_t kAmountsWidth = 3 * kAmountWidth;
constexpr std::size_t kLeastWidth = 16;  // width of names

using By = ComparedTable::By;

std::string title_of(const ComparedTable& table) {
  if (table.by == By::kLabel) return escape_terminal(table.key);
  return table.by == By::kFunctionAlone ? "function (alone)" : "function (and below)";
}

std::string name_of(const ComparedTable& table, const ComparedRow& row, const ShortNames& names) {
  switch (row.kind) {
    case ComparedRow::Kind::kWithout:
      return std::string(kUnsetText);
    case ComparedRow::Kind::kUnreadable:
      return "(unreadable)";
    case ComparedRow::Kind::kValue:
      break;
  }
  return table.by == By::kLabel ? shown_value(row.name) : escape_terminal(names.of(row.name));
}

// "+1.2", "-0.3"; "0.0" has no sign.
std::string points(double difference) {
  std::string text = decimal(100 * std::abs(difference), 1);
  if (text == "0.0") return text;
  return (difference > 0 ? "+" : "-") + text;
}

std::string amount_difference(const ComparedRow& row, const std::string& unit) {
  const std::uint64_t a = row.a.weight_ns;
  const std::uint64_t b = row.b.weight_ns;
  if (a == b) return "0";
  return b > a ? "+" + amount_text(b - a, unit) : "-" + amount_text(a - b, unit);
}

std::string share_text(const ComparedRow::Side& side, const ComparedRow::Side& whole) {
  return percent_text(share_of_1000(side.weight_ns, whole.weight_ns));
}

// A narrow terminal shows only shares, which are what is compared.
bool has_amounts(const SummaryStyle& style) {
  return style.width == 0 || style.width >= kLeastWidth + 8 + kSharesWidth + kAmountsWidth;
}

void render_compared(const Comparison& comparison, const ComparedTable& table,
                     const SummaryStyle& style, std::ostream& out) {
  const std::string& unit = comparison.value.unit;
  const std::size_t shown = std::min(table.rows.size(), style.max_values);
  ShortNames names;
  for (std::size_t i = 0; i < shown && table.by != By::kLabel; ++i) names.add(table.rows[i].name);
  std::size_t width = std::max(count_columns(title_of(table)), kLeastWidth);
  for (std::size_t i = 0; i < shown; ++i) {
    width = std::max(width, count_columns(name_of(table, table.rows[i], names)));
  }
  const bool amounts = has_amounts(style);
  const std::size_t numbers = kSharesWidth + (amounts ? kAmountsWidth : 0);
  const std::size_t free = style.width > numbers ? style.width - numbers : 0;
  width = style.width == 0 ? std::min(width, kWidestText)
                           : std::max(kLeastWidth, std::min(width, free));
  const auto text = [&](std::string_view name) { return fitted(name, width, style); };
  out << '\n'
      << paint(style.color, kBold, text(title_of(table))) << right("A", kShareWidth)
      << right("B", kShareWidth) << right("B - A", kShareWidth);
  if (amounts) {
    out << "  " << right("A", kAmountWidth) << right("B", kAmountWidth)
        << right("B - A", kAmountWidth);
  }
  out << '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    const ComparedRow& row = table.rows[i];
    const bool noise = row.is_noise();
    const std::string_view color = noise ? kDim : row.errors > 0 ? kRed : kGreen;
    std::string line = text(name_of(table, row, names));
    if (row.kind != ComparedRow::Kind::kValue) line = paint(style.color, kDim, std::move(line));
    out << line << right(share_text(row.a, comparison.a), kShareWidth)
        << right(share_text(row.b, comparison.b), kShareWidth)
        << paint(style.color, color,
                 right(points(row.difference), kShareWidth) + (noise && row.difference != 0 ? " ~"
                                                               : amounts                    ? "  "
                                                                                            : ""));
    if (amounts) {
      out << right(amount_text(row.a.weight_ns, unit), kAmountWidth)
          << right(amount_text(row.b.weight_ns, unit), kAmountWidth)
          << right(amount_difference(row, unit), kAmountWidth);
    }
    out << '\n';
  }
  if (shown < table.rows.size()) {
    out << paint(style.color, kDim,
                 "(" + with_thousands(table.rows.size() - shown) + " more: --json has all)")
        << '\n';
  }
}

Json side_json(const ComparedRow::Side& side) {
  return {{"samples", side.samples}, {"time_ns", side.weight_ns}, {"share", side.share}};
}

}  // namespace

Status render_comparison(const Comparison& comparison, const std::string (&names)[2],
                         const SummaryStyle& style, std::ostream& out) {
  const std::string& unit = comparison.value.unit;
  // The width of what follows a name: its amount, and its number of samples.
  const std::size_t behind =
      kAmountWidth + 5 +
      std::max(count_columns(count_text(comparison.a.samples, comparison.counted)),
               count_columns(count_text(comparison.b.samples, comparison.counted)));
  const std::size_t most = style.width == 0           ? kWidestText
                           : style.width > behind + 8 ? style.width - behind
                                                      : 8;
  const std::size_t width =
      std::min(most, std::max(count_columns(names[0]), count_columns(names[1])));
  for (const auto& [letter, name, side] :
       {std::tuple{"A  ", names[0], comparison.a}, std::tuple{"B  ", names[1], comparison.b}}) {
    out << paint(style.color, kBold, letter) << fitted(name, width, style)
        << right(amount_text(side.weight_ns, unit), kAmountWidth) << ", "
        << count_text(side.samples, comparison.counted) << '\n';
  }
  bool any_noise = false;
  for (const ComparedTable& table : comparison.tables) {
    render_compared(comparison, table, style, out);
    const auto end = table.rows.begin() +
                     static_cast<std::ptrdiff_t>(std::min(table.rows.size(), style.max_values));
    any_noise |= std::any_of(table.rows.begin(), end, [](const ComparedRow& row) {
      return row.is_noise() && row.difference != 0;
    });
  }
  out << '\n';
  const auto say = [&](const std::string& text) {
    for (const std::string& line : wrap(text, style.width, 2)) out << line << '\n';
  };
  if (any_noise) {
    say("~ may be chance: within " + decimal(kSignificant, 0) +
        " standard errors of so few samples");
  }
  if (!comparison.has_chance) {
    say("how much of a difference is chance is not known: these are " +
        escape_terminal(comparison.counted) + ", not samples");
  }
  for (const std::string& key : comparison.left_out) {
    say("not compared, for its many values: " + escape_terminal(key) + " (--summary " +
        escape_terminal(key) + ")");
  }
  return flush_output(out);
}

Status render_comparison_json(const Comparison& comparison, const std::string (&names)[2],
                              std::ostream& out) {
  constexpr std::array<const char*, 3> kBy{"label", "function", "function-and-below"};
  const auto whole = [](const std::string& name, const ComparedRow::Side& side) {
    Json json = side_json(side);
    json["name"] = name;
    return json;
  };
  for (const ComparedTable& table : comparison.tables) {
    const bool by_label = table.by == By::kLabel;
    Json line{{"by", kBy[static_cast<std::size_t>(table.by)]}};
    if (by_label) line["key"] = bytes_json(table.key);
    line["values"] = text_of(comparison.value);
    line["a"] = whole(names[0], comparison.a);
    line["b"] = whole(names[1], comparison.b);
    line["rows"] = array_json(table.rows, [&](const ComparedRow& row) {
      Json json = Json::object();
      if (row.kind == ComparedRow::Kind::kValue) {
        json[by_label ? "value" : "name"] = bytes_json(row.name);
      } else {
        json["value"] = nullptr;
        json["unreadable"] = row.kind == ComparedRow::Kind::kUnreadable;
      }
      json["a"] = side_json(row.a);
      json["b"] = side_json(row.b);
      json["difference"] = row.difference;
      if (comparison.has_chance) {
        json["standard_errors"] = row.errors;
        json["noise"] = row.is_noise();
      }
      return json;
    });
    out << json_text(line) << '\n';
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
