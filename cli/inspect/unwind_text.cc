// Everything that comes from files is escaped here.
#include <algorithm>
#include <array>
#include <span>

#include "cli/format/common/json_values.h"
#include "cli/inspect/unwind_report.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"
#include "elf/elf_names.h"

namespace labelscope::cli {
namespace {

// Text shows this many; JSON has all.
constexpr std::size_t kMostLines = 40;

std::string_view kind_name(ls_cfa_kind kind) {
  if (kind == LS_CFA_SP) return "followed";
#define LS_CFA_NAME(name, text) text,
  constexpr std::string_view kNames[] = {LS_CFA_KINDS(LS_CFA_NAME)};
#undef LS_CFA_NAME
  return kNames[kind];
}

const char* kind_text(ls_cfa_kind kind) {
  switch (kind) {
    case LS_CFA_SP:
      return "not described; its instructions are followed";
    case LS_CFA_GAP_FP:
      return "not described; keeps frame pointers";
    case LS_CFA_UNSUPPORTED:
      return "described in a way that is not supported";
    default:
      return "not described";
  }
}

std::string bytes_text(std::uint64_t bytes) { return counted(bytes, "byte", "bytes"); }

std::string described(const CodeCounts& counts) {
  const std::uint64_t gone =
      std::min(counts.gap_bytes + counts.unsupported_bytes, counts.code_bytes);
  return percent(counts.code_bytes - gone, counts.code_bytes);
}

}  // namespace

std::string render_unwinding(const UnwindReport& report) {
  std::string text = escape_terminal(report.path) + ": ";
  if (!report.problem.empty()) {
    return text + "no stack leads through it: " + escape_terminal(report.problem) + "\n";
  }
  const CodeCounts& counts = report.counts;
  text += report.is_whole() ? "every stack leads through its code"
                            : "stacks end in " + bytes_text(report.broken_bytes) + " of its code";
  text += "\n  code         " + bytes_text(counts.code_bytes) + " for " +
          std::string(machine_name(report.machine)) + ", " + described(counts) + " described, in " +
          counted(counts.functions, "function", "functions") + "\n  table        " +
          counted(report.rows, "row", "rows") + ", " + counted(report.rules, "rule", "rules") +
          ", " + bytes_text(report.bytes) + "\n  gaps         " + bytes_text(counts.gap_bytes) +
          "; " + bytes_text(report.followed_bytes) +
          " of them in code that is followed by its instructions, " +
          bytes_text(counts.frame_pointer_bytes) +
          " in code that keeps frame pointers\n  unsupported  " +
          bytes_text(counts.unsupported_bytes) + "\n";
  if (counts.go_functions != 0) {
    text += "  Go           " + counted(counts.go_functions, "function", "functions") +
            " by the table that Go's runtime has of them\n";
  }
  if (counts.go_refused) {
    text +=
        "  Go           the runtime's table of functions cannot be used (too old or too large)\n";
  }
  if (counts.damaged_functions != 0) {
    text += "  damaged      the description of " +
            counted(counts.damaged_functions, "function", "functions") + " cannot be read\n";
  }
  if (counts.hidden_functions != 0) {
    text += "  hidden       .eh_frame_hdr does not lead to " +
            counted(counts.hidden_functions, "function", "functions") + "\n";
  }
  const std::size_t shown = std::min(report.gaps.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const CodeGap& gap = report.gaps[i];
    text += "    " + hex(gap.start) + " to " + hex(gap.end) + "  " +
            (gap.function.empty() ? "(no symbol)" : escape_terminal(gap.function)) + ": " +
            kind_text(gap.kind) + "\n";
  }
  if (shown < report.gap_count) {
    text += "    and " + with_thousands(report.gap_count - shown) + " more (--json has them)\n";
  }
  return text;
}

std::string render_unwinding_table(std::span<const UnwindReport> reports) {
  using Row = std::array<std::string, 6>;  // the last column is not padded
  std::vector<Row> rows = {{"DESCRIBED", "ENDS IN", "ROWS", "RULES", "BYTES", "FILE"}};
  for (const UnwindReport& report : reports) {
    const std::string path = escape_terminal(report.path);
    if (!report.problem.empty()) {
      rows.push_back({"-", "-", "-", "-", "-", path + ": " + escape_terminal(report.problem)});
      continue;
    }
    rows.push_back({described(report.counts), bytes_text(report.broken_bytes),
                    with_thousands(report.rows), with_thousands(report.rules),
                    with_thousands(report.bytes), path});
  }
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

std::string render_unwinding_json(std::span<const UnwindReport> reports) {
  const auto file_json = [](const UnwindReport& report) {
    if (!report.problem.empty()) {
      return Json{{"path", bytes_json(report.path)}, {"problem", bytes_json(report.problem)}};
    }
    const CodeCounts& counts = report.counts;
    return Json{{"path", bytes_json(report.path)},
                {"problem", nullptr},
                {"machine", machine_name(report.machine)},
                {"rows", report.rows},
                {"rules", report.rules},
                {"table_bytes", report.bytes},
                {"code_bytes", counts.code_bytes},
                {"functions", counts.functions},
                {"damaged_functions", counts.damaged_functions},
                {"hidden_functions", counts.hidden_functions},
                {"go_functions", counts.go_functions},
                {"go_refused", counts.go_refused},
                {"gap_bytes", counts.gap_bytes},
                {"followed_bytes", report.followed_bytes},
                {"frame_pointer_bytes", counts.frame_pointer_bytes},
                {"unsupported_bytes", counts.unsupported_bytes},
                {"broken_bytes", report.broken_bytes},
                {"gap_count", report.gap_count},
                {"gaps", array_json(report.gaps, [](const CodeGap& gap) {
                   return Json{{"kind", kind_name(gap.kind)},
                               {"start", address_json(gap.start)},
                               {"end", address_json(gap.end)},
                               {"function",
                                gap.function.empty() ? Json(nullptr) : bytes_json(gap.function)}};
                 })}};
  };
  const Json json{{"format", "labelscope-inspect-unwind"},
                  {"version", 1},
                  {"files", array_json(reports, file_json)}};
  return json_text(json, 2) + "\n";
}

}  // namespace labelscope::cli
