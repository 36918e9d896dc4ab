// A flat table for spreadsheets and data frames: a row for each function and label set, a column
// for each label key (RFC 4180). docs/formats.md says what is in which column.
//
// A spreadsheet takes a cell that begins with "=", "+", "-" or "@" for a formula, and formulas can
// fetch from the network. Cells with such a beginning get a "'" in front, which shows them as text;
// so do cells that begin with "'", so that one "'" can be taken away again from every cell that has
// it. No cell holds a control character or a ";", at which some spreadsheets would begin a new cell
// inside of quotes.
#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/common/ledger_text.h"
#include "cli/format/common/rows.h"
#include "cli/format/common/shown_frames.h"
#include "cli/format/format.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// The last two are "+", "-", "=" and "@" of East Asian keyboards (U+FF0B, FF0D, FF1D, FF20): some
// spreadsheets take those, too.
constexpr std::array<std::string_view, 9> kFormulaBegins{
    "=", "+", "-", "@", "'", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\x9D", "\xEF\xBC\xA0"};

std::string cell(std::string_view bytes) {
  std::string text = bytes.empty() ? std::string() : escape_folded(bytes);
  const bool formula = std::any_of(kFormulaBegins.begin(), kFormulaBegins.end(),
                                   [&](std::string_view begin) { return text.starts_with(begin); });
  if (formula) text.insert(0, 1, '\'');
  if (text.find_first_of("\",") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

class CsvRenderer {
 public:
  CsvRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), shown_(profile) {
    if (!options.group_by.empty()) {
      keys_ = options.group_by;
      return;
    }
    std::set<std::string_view> keys;
    std::set<Index> known;
    for (const SampleRow& row : profile.rows) {
      if (row.label_set == kNoIndex || !known.insert(row.label_set).second) continue;
      for (const Label& label : profile.label_sets[row.label_set]) keys.insert(label.key);
    }
    keys_.assign(keys.begin(), keys.end());
  }

  Status render(std::ostream& out) {
    std::set<std::string> used;
    for (const std::string& amount : amount_columns()) {
      out << (used.empty() ? "" : ",") << cell(*used.insert(amount).first);
    }
    out << ',' << cell(*used.insert(count_column()).first);
    for (const std::string_view own : kOwn) out << ',' << *used.emplace(own).first;
    for (const std::string& key : keys_) {
      // If a user asks for a column by one of our names, that column is ours.
      std::string name = escape_folded(key);
      while (!used.insert(name).second) name.insert(0, "label.");
      out << ',' << cell(name);
    }
    out << "\r\n";
    add_up();
    for (const auto& [texts, amount] : rows_) {
      out << amount.weight_ns;
      for (std::size_t i = 0; i < profile_.kind_count(); ++i) {
        out << ',' << amount.by_value[i];
      }
      out << ',' << amount.count << ',' << texts << "\r\n";
      if (!out) break;
    }
    return flush_output(out);
  }

 private:
  static constexpr std::array<std::string_view, 8> kOwn{
      "function", "module", "stack_end", "outcome", "comm", "pid", "thread_name", "thread_id"};

  struct Amount {
    std::uint64_t weight_ns = 0;
    std::array<std::uint64_t, kMostValueTypes> by_value{};
    std::uint64_t count = 0;
  };

  // If there are several kinds of time, each has a column behind the one of their sum. A profile of
  // another tool may count bytes or calls.
  std::vector<std::string> amount_columns() const {
    const ValueType whole = profile_.whole_value();
    if (whole.is_time()) {
      std::vector<std::string> columns{"time_ns"};
      for (std::size_t i = 0; i < profile_.kind_count(); ++i) {
        columns.push_back(profile_.values[i].name + "_ns");
      }
      return columns;
    }
    std::string name = escape_folded(whole.name + "_" + whole.unit);
    if (std::ranges::find(kOwn, name) != kOwn.end()) name.insert(0, "value.");
    return {name};
  }

  // Returns "samples", or what such a profile counts.
  std::string count_column() const {
    std::string name = escape_folded(profile_.counted);
    if (std::ranges::find(kOwn, name) != kOwn.end() || name == amount_columns().front()) {
      name.insert(0, "count.");
    }
    return name;
  }

  // Merges rows that look the same, even if they differ in what is not shown.
  void add_up() {
    const SampleRow* before = nullptr;
    std::string of_labels;
    const std::vector<SampleRow> rows = aggregate_rows(profile_, {.flags = 0});
    for (const SampleRow& row : rows) {
      if (before == nullptr || before->label_set != row.label_set || before->thread != row.thread ||
          before->outcome != row.outcome) {
        of_labels = label_cells(row);
      }
      before = &row;
      Amount& amount = rows_[stack_cells(row.stack) + of_labels];
      amount.weight_ns += row.weight_ns;
      amount.by_value[row.value] += row.weight_ns;
      amount.count += row.count;
    }
  }

  const std::string& stack_cells(Index stack) {
    std::string& cells = stack_cells_[stack];
    if (!cells.empty()) return cells;
    const ShownFrame frame = shown_.frames()[shown_.leaf(stack)];
    const std::string module =
        frame.module == kNoIndex ? std::string() : profile_.modules[frame.module].path;
    const std::string_view end = stack == kNoIndex ? stack_end_name(LS_STACK_MISSING)
                                                   : stack_end_name(profile_.stacks[stack]);
    cells = cell(frame.name) + ',' + cell(module) + ',' + std::string(end);
    return cells;
  }

  std::string label_cells(const SampleRow& row) const {
    const RowLabels& labels = shown_.rows();
    std::string cells = ',' + std::string(outcome_name(row.outcome));
    for (const std::string_view key : {kCommKey, kPidKey, kThreadNameKey, kThreadIdKey}) {
      cells += ',' + cell(labels.own_value(row, key).value_or(""));
    }
    for (const std::string& key : keys_) {
      cells += ',' + cell(labels.group_frame(row, key).substr(key.size() + 1));
    }
    return cells;
  }

  const Profile& profile_;
  ShownFrames shown_;
  std::vector<std::string> keys_;
  std::map<Index, std::string> stack_cells_;
  std::map<std::string, Amount> rows_;  // by all cells but the numbers
};

}  // namespace

Status render_csv(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return CsvRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
