// Everything that comes from files, such as their names, is escaped here.
#include "cli/text/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "cli/inspect/file_report.h"
#include "cli/text/escape.h"
#include "elf/elf_names.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

std::string kind_of(const FileInspection& seen) {
  if (!seen.foreign_platform.empty()) return "-";
  return seen.executable ? "program" : "library";
}

std::string access_of(const FileInspection& seen) {
  if (seen.access.empty()) return "-";
  std::string text;
  for (const FileAccess access : seen.access) {
    text += (text.empty() ? "" : ", ") + std::string(file_access_name(access));
  }
  return text;
}

std::string version_of(const FileInspection& seen) {
  return seen.version_value ? std::to_string(*seen.version_value) : "-";
}

using Row = std::array<std::string, 6>;  // the last column is not padded

void append_row(const Row& row, const std::array<std::size_t, 5>& widths, std::string& text) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    text += row[i];
    text.append(widths[i] - count_columns(row[i]) + 2, ' ');
  }
  text += row.back() + "\n";
}

void append_findings(const FileInspection& seen, const char* indent, std::string& text) {
  for (const Finding& finding : seen.findings) {
    text += indent + finding_title(finding) + ": " + escape_terminal(finding.text) + "\n";
    if (!finding.fix.empty()) {
      text += indent + std::string("  fix: ") + escape_terminal(finding.fix) + "\n";
    }
  }
}

// No rules were checked for such a file, so it cannot be compliant either.
bool lacks_rules(const FileInspection& seen) {
  return seen.verdict == Verdict::kCompliant && find_source(seen.source)->about.rules.empty();
}

std::string verdict_word(const FileInspection& seen) {
  return std::string(lacks_rules(seen) ? "no-rules" : verdict_name(seen.verdict));
}

std::string verdict_sentence(const FileInspection& seen) {
  const std::string source(find_source(seen.source)->about.name);
  if (lacks_rules(seen)) return "publishes labels as " + source + " does; no rules apply to it";
  switch (seen.verdict) {
    case Verdict::kCompliant:
      return "publishes labels as " + source + " wants it";
    case Verdict::kReadable:
      return "publishes labels that labelscope reads, but not as " + source + " wants it";
    case Verdict::kBroken:
      return "means to publish labels, but no reader can use them";
    case Verdict::kNothing:
      break;
  }
  if (!seen.needs_publishers.empty()) {
    return "publishes nothing itself; it is linked with " + escape_terminal(seen.needs_publishers.front()) +
           ", which does so where it runs";
  }
  return seen.imports_variable ? "publishes nothing; it uses the labels of another file"
                               : "publishes nothing";
}

// For the table: a line for each preset that fits, or that would if it knew the version.
void append_fitting(const FileReport& file, std::string& text) {
  for (const PresetReport& preset : file.presets) {
    if (preset.fits()) {
      text += "    preset " + preset.name + (preset.variant.empty() ? "" : " " + preset.variant) +
              " fits: labelscope record --preset " + preset.name + "\n";
    } else if (preset.matches) {
      text +=
          "    preset " + preset.name + " does not fit: " + escape_terminal(preset.why_not) + "\n";
    }
  }
}

// For the details: all of them.
std::string preset_lines(const FileReport& file) {
  std::string text;
  std::string others;
  for (const PresetReport& preset : file.presets) {
    if (!preset.matches) {
      others += (others.empty() ? "" : "; ") + preset.name + ": " + preset.why_not;
      continue;
    }
    text += "  preset   " + preset.name + (preset.variant.empty() ? "" : " " + preset.variant);
    if (!preset.fits()) {
      text += " does not fit: " + escape_terminal(preset.why_not) + "\n";
      continue;
    }
    std::string labels;
    for (const std::string& label : preset.labels) labels += (labels.empty() ? "" : ", ") + label;
    text += " fits: record --preset " + preset.name + " reads " + labels + "\n";
  }
  if (text.empty() && !others.empty())
    text = "  preset   none fits (" + escape_terminal(others) + ")\n";
  return text;
}

std::string symbol_line(const char* table, const std::optional<ElfSymbol>& symbol) {
  std::string text = std::string("    ") + table + "  ";
  if (!symbol) return text + "not there\n";
  if (!symbol->defined) return text + "imported from another file\n";
  return text + std::string(symbol_type_name(symbol->type)) + " " +
         std::string(symbol_binding_name(symbol->binding)) + " " +
         std::string(symbol_visibility_name(symbol->visibility)) + ", " +
         std::to_string(symbol->size) + " bytes at " + hex(symbol->value) + "\n";
}

std::string symbol_lines(const char* name, const InspectedSymbol& symbol) {
  return std::string("  ") + name + "\n" + symbol_line(".dynsym", symbol.dynamic) +
         symbol_line(".symtab", symbol.symtab);
}

std::string relocation_line(const FileInspection& seen, const TlsRelocation& relocation) {
  return "    " + std::string(relocation_name(seen.machine, relocation.kind)) + "  slot at " +
         hex(relocation.slot) + ", addend " + signed_hex(relocation.addend) +
         (relocation.by_name ? ", names the variable" : ", without a symbol") + "\n";
}

}  // namespace

std::string render_table(std::span<const FileReport> files) {
  if (files.empty()) return {};
  std::vector<Row> rows = {{"VERDICT", "VERSION", "CPU", "KIND", "ACCESS", "FILE"}};
  for (const FileReport& file : files) {
    const FileInspection& seen = file.inspection;
    rows.push_back({verdict_word(seen), version_of(seen), platform_of(seen), kind_of(seen),
                    access_of(seen), escape_terminal(file.path)});
  }
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], count_columns(row[i]));
    }
  }
  std::string text;
  append_row(rows.front(), widths, text);
  for (std::size_t i = 0; i < files.size(); ++i) {
    append_row(rows[i + 1], widths, text);
    append_findings(files[i].inspection, "    ", text);
    append_fitting(files[i], text);
  }
  return text;
}

std::string render_details(const FileReport& file) {
  const FileInspection& seen = file.inspection;
  std::string text = escape_terminal(file.path) + ": " + verdict_sentence(seen) + "\n";
  if (!seen.foreign_platform.empty()) {
    text += "  file     " + seen.foreign_platform + "\n  findings\n";
    append_findings(seen, "    ", text);
    return text;
  }
  text += "  file     " + platform_of(seen) + " " + kind_of(seen);
  text += seen.build_id.empty() ? ", no build ID" : ", build ID " + seen.build_id;
  text += seen.has_symtab ? "" : ", stripped (no .symtab)";
  text += seen.has_dynamic_symbols ? "\n" : ", no dynamic symbols\n";
  if (base_name(file.mapped_path) != base_name(file.path)) {
    text += "  mapped   as " + escape_terminal(file.mapped_path) + "\n";
  }
  if (seen.tls) {
    text += "  TLS      block of " + std::to_string(seen.tls->memory_size) + " bytes, aligned to " +
            std::to_string(seen.tls->alignment) + "\n";
  } else {
    text += "  TLS      no block\n";
  }
  if (seen.verdict != Verdict::kNothing) {
    text += "  version  " + version_of(seen) + "\n  access   " + access_of(seen) + "\n";
  }
  for (const TlsRelocation& relocation : seen.relocations)
    text += relocation_line(seen, relocation);
  if (seen.relocation_count > seen.relocations.size()) {
    text += "    and " + std::to_string(seen.relocation_count - seen.relocations.size()) +
            " more relocations\n";
  }
  const LabelSource& source = *find_source(seen.source);
  const LabelSource::About& names = source.about;
  for (const SourceDetail& detail : source.details(seen)) {
    std::string name(detail.name);
    name.resize(std::max<std::size_t>(name.size(), 8), ' ');
    text += "  " + name + " " + escape_terminal(detail.text) + "\n";
  }
  if (names.version_symbol != nullptr) text += symbol_lines(names.version_symbol, seen.version);
  if (names.variable_symbol != nullptr) text += symbol_lines(names.variable_symbol, seen.variable);
  text += preset_lines(file);
  if (!seen.findings.empty()) text += "  findings\n";
  append_findings(seen, "    ", text);
  return text;
}

}  // namespace labelscope::cli
