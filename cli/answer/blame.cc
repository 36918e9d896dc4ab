#include "cli/answer/blame.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <unordered_map>

#include "cli/format/common/json_values.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/profile/blame.h"
#include "cli/profile/idle.h"
#include "cli/profile/index_table.h"
#include "cli/profile/value_types.h"
#include "cli/profile/wait_reason.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

using Kind = BlameName::Kind;

// Looks up labels of both sides.
class Sides {
 public:
  explicit Sides(const Profile& profile) : profile_(profile), labels_(profile) {}

  // `side` is a BlameRow or its Blamed.
  std::optional<std::string> value(const auto& side, std::uint8_t kind,
                                   std::string_view key) const {
    WaitRow total;
    total.process = side.process;
    total.label_set = side.label_set;
    total.outcome = side.outcome;
    total.value = kind;
    const SampleRow row = labels_.stand_in(total);
    std::optional<std::string> found = labels_.value(row, key);
    if (found || row.thread != kNoIndex) return found;
    // A process may make others wait, and have no sample of its own.
    if (side.process >= profile_.processes.size()) return std::nullopt;
    const Process& process = profile_.processes[side.process];
    if (key == kPidKey) return std::to_string(raw(process.pid));
    if (key == kCommKey && !process.comm.empty()) return process.comm;
    return std::nullopt;
  }

  BlameName name(const auto& side, std::uint8_t kind, std::string_view key) const {
    if (std::optional<std::string> found = value(side, kind, key)) {
      return {Kind::kValue, *std::move(found)};
    }
    return {is_unreadable(side.outcome) ? Kind::kUnreadable : Kind::kWithout};
  }

  BlameName column(const BlameRow& row, std::string_view key) const {
    switch (row.by.kind) {
      case LS_BLAME_THREAD:
      case LS_BLAME_OWNER:
        return name(row.by, row.value, key);
      case LS_BLAME_PROCESS:
        return {Kind::kProcess, row.by.name};
      case LS_BLAME_TIMER:
        return {Kind::kTimer};
      case LS_BLAME_INTERRUPT:
        return {Kind::kInterrupt};
      case LS_BLAME_KERNEL:
        return {Kind::kKernel};
      case LS_BLAME_QUOTA:
        return {Kind::kQuota};
      case LS_BLAME_MANY:
        return {Kind::kMany};
      case LS_BLAME_NOBODY_YET:
        return {Kind::kStillWaiting};
      case LS_BLAME_UNKNOWN:
      case LS_BLAME_KIND_COUNT:
        break;
    }
    return {Kind::kUnknown};
  }

 private:
  const Profile& profile_;
  RowLabels labels_;
};

// Returns the name as a table shows it.
std::string shown(const BlameName& name) {
  switch (name.kind) {
    case Kind::kValue:
      return shown_value(name.text);
    case Kind::kWithout:
      return std::string(kUnsetText);
    case Kind::kUnreadable:
      return "(unreadable)";
    case Kind::kProcess:
      return "(other processes)";
    case Kind::kTimer:
      return "(timer)";
    case Kind::kInterrupt:
      return "(interrupt)";
    case Kind::kKernel:
      return "(kernel)";
    case Kind::kQuota:
      return "(quota)";
    case Kind::kMany:
      return "(many others)";
    case Kind::kStillWaiting:
      return "(still waiting)";
    case Kind::kIdle:
      return std::string(kIdleText);
    case Kind::kUnknown:
      break;
  }
  return "(unknown)";
}

// Returns the word for a column that is no value, in JSON.
std::string_view word_of(Kind kind) {
  switch (kind) {
    case Kind::kValue:
      return "value";
    case Kind::kWithout:
      return "without";
    case Kind::kUnreadable:
      return "unreadable";
    case Kind::kProcess:
      return blame_kind_name(LS_BLAME_PROCESS);
    case Kind::kTimer:
      return blame_kind_name(LS_BLAME_TIMER);
    case Kind::kInterrupt:
      return blame_kind_name(LS_BLAME_INTERRUPT);
    case Kind::kKernel:
      return blame_kind_name(LS_BLAME_KERNEL);
    case Kind::kQuota:
      return blame_kind_name(LS_BLAME_QUOTA);
    case Kind::kMany:
      return blame_kind_name(LS_BLAME_MANY);
    case Kind::kStillWaiting:
      return blame_kind_name(LS_BLAME_NOBODY_YET);
    case Kind::kIdle:
    case Kind::kUnknown:
      break;
  }
  return blame_kind_name(LS_BLAME_UNKNOWN);
}

constexpr std::size_t kTimeWidth = 11;

// One column of numbers: a title, and its time in each row.
struct Column {
  std::string title;
  std::size_t width = kTimeWidth;
  std::vector<std::uint64_t> times{};
};

using Line = std::pair<BlameName, BlameLine>;

// Returns the lines that a table shows: no more than it may have, and that of waits for work.
std::vector<const Line*> shown_lines(const BlameMatrix& matrix, const SummaryStyle& style) {
  std::vector<const Line*> lines;
  for (const Line& line : matrix.lines) {
    if (lines.size() < style.max_values || line.first.kind == Kind::kIdle) lines.push_back(&line);
  }
  return lines;
}

// Returns the columns that fit into the line, and one with the sum of all others.
std::vector<Column> columns_of(const BlameMatrix& matrix, const std::vector<const Line*>& lines,
                               const SummaryStyle& style, std::size_t room) {
  constexpr std::size_t kWidestTitle = 24;
  std::vector<Column> columns;
  std::size_t shown_columns = 0;
  std::size_t used = 0;
  for (const auto& [name, amount] : matrix.columns) {
    Column column{shown(name)};
    const std::size_t widest = style.width == 0 ? kWidestText : kWidestTitle;
    column.width = std::max(kTimeWidth, std::min(widest, count_columns(column.title)) + 2);
    const bool is_last = shown_columns + 1 == matrix.columns.size();
    const std::size_t rest = is_last ? 0 : kTimeWidth + 4;  // for "(12 others)"
    const bool fits = style.width == 0 || used + column.width + rest <= room;
    if (shown_columns > 0 && (!fits || shown_columns == style.max_values)) break;
    for (const Line* line : lines) {
      const auto& parts = line->second.because_of;
      const auto part = parts.find(name);
      column.times.push_back(part == parts.end() ? 0 : part->second.time_ns);
    }
    used += column.width;
    ++shown_columns;
    columns.push_back(std::move(column));
  }
  if (shown_columns == matrix.columns.size()) return columns;
  Column others{"(" + std::to_string(matrix.columns.size() - shown_columns) + " others)"};
  others.width = std::max(kTimeWidth, count_columns(others.title) + 2);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::uint64_t rest = lines[i]->second.whole.time_ns;
    for (const Column& column : columns) rest -= column.times[i];
    others.times.push_back(rest);
  }
  columns.push_back(std::move(others));
  return columns;
}

void render(const BlameMatrix& matrix, std::string_view key, const SummaryStyle& style,
            std::ostream& out) {
  const std::vector<const Line*> lines = shown_lines(matrix, style);
  std::size_t width = count_columns(escape_terminal(key));
  for (const Line* line : lines) width = std::max(width, count_columns(shown(line->first)));
  const std::size_t most =
      style.width == 0 ? kWidestText : std::max<std::size_t>(16, style.width / 4);
  width = std::min(width, most);
  const std::size_t taken = width + kTimeWidth;
  const std::size_t room = style.width > taken ? style.width - taken : 0;
  const std::vector<Column> columns = columns_of(matrix, lines, style, room);
  out << paint(style.color, kBold, fitted(escape_terminal(key), width, style))
      << right("waited", kTimeWidth);
  for (const Column& column : columns) {
    const std::string title = style.width == 0 || count_columns(column.title) <= column.width - 2
                                  ? column.title
                                  : cell(column.title, column.width - 2, style.unicode);
    out << right(title, column.width);
  }
  out << '\n';
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [name, line] = *lines[i];
    std::string text = fitted(shown(name), width, style);
    if (name.kind != Kind::kValue) text = paint(style.color, kDim, std::move(text));
    out << text << right(time_text(line.whole.time_ns), kTimeWidth);
    for (const Column& column : columns) {
      out << right(column.times[i] == 0 ? "-" : time_text(column.times[i]), column.width);
    }
    out << '\n';
  }
  if (lines.size() < matrix.lines.size()) {
    out << "(" << matrix.lines.size() - lines.size() << " more rows are in --json)\n";
  }
  if (matrix.whole.owner_ns != 0) {
    out << "(" << time_text(matrix.whole.owner_ns)
        << " because of threads that held a lock when the wait began)\n";
  }
  if (matrix.futex_by_waker_ns != 0) {
    out << "(" << time_text(matrix.futex_by_waker_ns)
        << " in a futex, because of its last waker)\n";
  }
}

Json amount_json(const BlameAmount& amount) {
  Json json{{"time_ns", amount.time_ns}, {"count", amount.count}};
  if (amount.owner_ns != 0) json["owner_ns"] = amount.owner_ns;
  return json;
}

Json line_json(const BlameLine& line) {
  Json because = Json::array();
  std::vector<std::pair<BlameName, BlameAmount>> parts(line.because_of.begin(),
                                                       line.because_of.end());
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const auto& part) { return part.second.time_ns; });
  for (const auto& [name, amount] : parts) {
    Json part{{"by", word_of(name.kind)}};
    if (name.kind == Kind::kValue) part["value"] = bytes_json(name.text);
    if (name.kind == Kind::kProcess) part["name"] = bytes_json(name.text);
    part.update(amount_json(amount));
    because.push_back(std::move(part));
  }
  Json json = amount_json(line.whole);
  json["because_of"] = std::move(because);
  return json;
}

}  // namespace

bool is_key_of_blame(std::string_view key) { return !is_key_of_samples(key) && key != kStateKey; }

bool has_blame_by(const Profile& profile, std::string_view key) {
  return profile.blame_keys.empty() || key == kPidKey || key == kCommKey || key == kWaitKey ||
         std::ranges::find(profile.blame_keys, key) != profile.blame_keys.end();
}

std::string why_no_blame_by(const Profile& profile, std::string_view key) {
  std::string keys;
  for (const std::string& known : profile.blame_keys) keys += (keys.empty() ? "" : ", ") + known;
  return "there were so many pairs of label sets that who made whom wait was added up by " + keys +
         " alone, and not by " + std::string(key);
}

BlameMatrix blame_matrix(const Profile& profile, std::string_view key, BlameReader reader) {
  const bool for_people = reader == BlameReader::kPeople;
  const Sides sides(profile);
  const IdleRows idle(profile, IdleRows::What::kFolded);
  std::map<BlameName, BlameLine> lines;
  std::map<BlameName, BlameAmount> columns;
  BlameMatrix matrix;
  for (const BlameRow& row : profile.blame) {
    if (row.time_ns == 0) continue;
    BlameName column = sides.column(row, key);
    if (for_people && column.kind == Kind::kProcess) column.text.clear();
    const bool is_idle = for_people && idle.contains(row);
    BlameLine& line = lines[is_idle ? BlameName{Kind::kIdle} : sides.name(row, row.value, key)];
    line.whole.add(row);
    line.because_of[column].add(row);
    BlameAmount& of_column = columns[std::move(column)];
    if (is_idle) continue;
    of_column.add(row);
    matrix.whole.add(row);
    if (row.by.kind == LS_BLAME_THREAD && row.label_set != kNoIndex &&
        profile.values[row.value] == value_of_kind(LS_WAITING) &&
        reason_of(profile.label_sets[row.label_set]) == "futex") {
      matrix.futex_by_waker_ns += row.time_ns;
    }
  }
  matrix.lines.assign(lines.begin(), lines.end());
  // Rows with a value first, and the others in the order of their kinds.
  std::ranges::stable_sort(matrix.lines, [&](const Line& a, const Line& b) {
    const Kind first = for_people ? a.first.kind : Kind::kValue;
    const Kind second = for_people ? b.first.kind : Kind::kValue;
    return first != second ? first < second : a.second.whole.time_ns > b.second.whole.time_ns;
  });
  matrix.columns.assign(columns.begin(), columns.end());
  std::ranges::stable_sort(matrix.columns, std::ranges::greater(),
                           [](const auto& column) { return column.second.time_ns; });
  return matrix;
}

void select_blame(Profile& profile, const Selection& selection) {
  if (!profile.has_blame) return;
  if (selection.since || selection.until) {
    return drop_blame(profile,
                      "--since and --until select samples, and who made whom wait was added up "
                      "for the whole recording");
  }
  for (const Condition& condition : selection.conditions) {
    if (!is_key_of_samples(condition.key())) continue;
    return drop_blame(profile, "--where " + condition.text() +
                                   " selects threads, and who made whom wait was added up by "
                                   "labels");
  }
  for (const Condition& condition : selection.conditions) {
    if (has_blame_by(profile, condition.key())) continue;
    return drop_blame(profile, why_no_blame_by(profile, condition.key()));
  }
  const Sides sides(profile);
  std::erase_if(profile.blame, [&](const BlameRow& row) {
    return !std::ranges::all_of(selection.conditions, [&](const Condition& condition) {
      const BlameName name = sides.name(row, row.value, condition.key());
      if (name.kind == Kind::kWithout) return condition.holds(std::string(kNoneText));
      if (name.kind == Kind::kUnreadable) return condition.holds(std::string(kUnreadableText));
      return condition.holds(name.text.empty() ? std::string(kEmptyText) : name.text);
    });
  });
}

Status render_blame(const Profile& profile, const std::vector<std::string>& keys,
                    const SummaryStyle& style, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out << '\n';
    const BlameMatrix matrix = blame_matrix(profile, keys[i], BlameReader::kPeople);
    if (matrix.lines.empty()) {
      out << "no thread has waited\n";
    } else {
      render(matrix, keys[i], style, out);
    }
  }
  return flush_output(out);
}

Status render_blame_json(const Profile& profile, const std::vector<std::string>& keys,
                         std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  for (const std::string& key : keys) {
    const BlameMatrix matrix = blame_matrix(profile, key);
    Json json{{"blame", bytes_json(key)}};
    json.update(amount_json(matrix.whole));
    json["values"] = Json::array();
    BlameLine none;
    Json without = line_json(none);
    Json unreadable = without;
    for (const auto& [name, line] : matrix.lines) {
      if (name.kind == Kind::kWithout) {
        without = line_json(line);
      } else if (name.kind == Kind::kUnreadable) {
        unreadable = line_json(line);
      } else {
        Json value{{"value", bytes_json(name.text)}};
        value.update(line_json(line));
        json["values"].push_back(std::move(value));
      }
    }
    json["without"] = std::move(without);
    json["unreadable"] = std::move(unreadable);
    out << json_text(json) << '\n';
  }
  return flush_output(out);
}

}  // namespace labelscope::cli
