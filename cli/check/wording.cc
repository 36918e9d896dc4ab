#include "cli/check/wording.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/check/baseline.h"
#include "cli/format/escape.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

void add_line(std::vector<std::string>& lines, const char* what, const std::string& text) {
  if (!text.empty()) lines.push_back(what + text);
}

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 80;

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrap(std::string(indent, ' ').append(text), kColumns, 0)) {
    out += line + "\n";
  }
  return out;
}

void add_fix(std::string& text, const char* tool, const char* fix) {
  if (fix == nullptr) return;
  text += std::string("  ") + tool + "\n" + wrapped(fix, 4);
}

Json fix_json(const char* fix) { return fix == nullptr ? Json(nullptr) : Json(fix); }

}  // namespace

std::string place_text(const CodePlace& place) {
  std::string raw =
      (place.module.empty() ? std::string("?") : escape_terminal(base_name(place.module))) + "+" +
      hex(place.address);
  if (place.function.empty()) return raw;
  const std::string where = place.file.empty() ? raw
                                               : escape_terminal(base_name(place.file)) + ":" +
                                                     std::to_string(place.line);
  return escape_terminal(place.function) + " (" + where + ")";
}

std::string found_text(const Diagnostic& diagnostic) {
  std::string text = escape_terminal(diagnostic.text);
  if (diagnostic.subject.starts_with("thread ")) {
    text += " (" + escape_terminal(diagnostic.subject);
    text += diagnostic.count > 1 ? ", " + std::to_string(diagnostic.count) + " times)" : ")";
  } else if (diagnostic.count > 1) {
    text += " (" + std::to_string(diagnostic.count) + " times)";
  }
  return text;
}

std::vector<std::string> detail_lines(const Diagnostic& diagnostic) {
  std::vector<std::string> lines;
  // Escaped by whoever made them; once more does no harm.
  add_line(lines, "before  ", escape_terminal(diagnostic.set_before));
  add_line(lines, "seen    ", escape_terminal(diagnostic.set_seen));
  add_line(lines, "after   ", escape_terminal(diagnostic.set_after));
  const char* what = "at      ";
  for (const CodePlace& place : diagnostic.places) {
    lines.push_back(what + place_text(place));
    what = "in      ";
  }
  add_line(lines, "code    ", escape_terminal(diagnostic.instruction));
  add_line(lines, "fix     ", escape_terminal(diagnostic.fix));
  return lines;
}

const CodePlace* source_place(const Diagnostic& diagnostic) {
  for (std::size_t i = diagnostic.author_place; i < diagnostic.places.size(); ++i) {
    const CodePlace& place = diagnostic.places[i];
    if (!place.file.empty() && place.line != 0) return &place;
  }
  return nullptr;
}

std::string shown_file(const CheckedSubject& subject, const Diagnostic& diagnostic) {
  if (const CodePlace* place = source_place(diagnostic)) return place->file;
  for (std::size_t i = diagnostic.author_place; i < diagnostic.places.size(); ++i) {
    if (!diagnostic.places[i].module.empty()) return diagnostic.places[i].module;
  }
  return is_process_name(subject.name) ? std::string() : subject.name;
}

std::string gap_text(const CheckGap& gap) { return gap.name + ": " + escape_terminal(gap.text); }

std::string problem_text(const CheckProblem& problem) {
  return escape_terminal(problem.name) + ": " + escape_terminal(problem.error.context);
}

std::string gone_text(const BaselineEntry& entry) {
  return "the baseline's " + escape_terminal(entry.rule) + " of " + escape_terminal(entry.subject) +
         " was not found again: it can be taken out (" + escape_terminal(entry.found) + ")";
}

std::string list_rules(bool color) {
  std::string text;
  std::string_view section;
  for (const Rule& rule : all_rules()) {
    if (section != rule.section) {
      section = rule.section;
      text += std::string(text.empty() ? "" : "\n") + paint(color, kBold, rule.section) + "\n";
    }
    std::array<char, 64> head;
    std::snprintf(head.data(), head.size(), "  %-6s %-8s %-7s %-25s ", rule.code,
                  severity_name(rule.severity).data(), depth_name(rule.depth).data(), rule.name);
    text += std::string(head.data()) + rule.title + "\n";
  }
  return text;
}

std::string explain_rule(const Rule& rule) {
  std::string text = wrapped(std::string(rule.code) + " " + rule.name + ": " + rule.title, 0);
  text += std::string(severity_name(rule.severity)) + "; seen by a " +
          std::string(depth_name(rule.depth)) + " check; ABI v1, \"" + rule.section + "\"\n\n";
  text += wrapped(rule.requirement, 0) + "\n" + wrapped(rule.reason, 0) + "\n";
  text += "How to comply\n";
  if (rule.fix != nullptr) text += wrapped(rule.fix, 2);
  add_fix(text, "gcc", rule.fix_gcc);
  add_fix(text, "clang", rule.fix_clang);
  add_fix(text, "Rust", rule.fix_rust);
  add_fix(text, "CMake", rule.fix_cmake);
  return text;
}

std::string render_rules_json(std::span<const Rule* const> rules) {
  Json all = Json::array();
  for (const Rule* rule : rules) {
    all.push_back(Json{{"rule", rule->code},
                       {"name", rule->name},
                       {"title", rule->title},
                       {"section", rule->section},
                       {"severity", severity_name(rule->severity)},
                       {"depth", depth_name(rule->depth)},
                       {"requirement", rule->requirement},
                       {"reason", rule->reason},
                       {"fix", fix_json(rule->fix)},
                       {"fix_gcc", fix_json(rule->fix_gcc)},
                       {"fix_clang", fix_json(rule->fix_clang)},
                       {"fix_rust", fix_json(rule->fix_rust)},
                       {"fix_cmake", fix_json(rule->fix_cmake)}});
  }
  return all.dump(2) + "\n";
}

}  // namespace labelscope::cli
