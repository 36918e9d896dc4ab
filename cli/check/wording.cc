#include "cli/check/wording.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "cli/check/baseline.h"
#include "cli/check/formats.h"
#include "cli/format/common/json_values.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "findings/check_rule.h"
#include "sources/label_source.h"

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

std::string_view source_name(const Rule& rule) {
  return find_source(source_of(rule.id))->about.name;
}

std::string heading(const Rule& rule) {
  return std::string(source_name(rule)) + ", \"" + rule.section + "\"";
}

Json fix_json(const char* fix) { return fix == nullptr ? Json(nullptr) : Json(fix); }

// The "unreserved" characters of RFC 3986, and the separator. A colon in a first segment would make
// a scheme of it.
bool stays(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

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
  // The set is escaped already; escaping it once more does no harm.
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

std::string source_path(std::string_view path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.is_absolute()) return normal.string();
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  if (failed) return normal.string();
  const std::filesystem::path relative = normal.lexically_relative(here);
  if (relative.empty() || *relative.begin() == "..") return normal.string();
  return relative.string();
}

std::string source_uri(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string plain = source_path(path);
  std::string uri = plain.starts_with('/') ? "file://" : "";
  for (const char c : plain) {
    if (stays(c)) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return uri;
}

std::string replaced(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements) {
  std::string out;
  while (!text.empty()) {
    const auto* found = std::ranges::find_if(
        replacements, [&](const auto& each) { return text.starts_with(each.first); });
    const bool stays = found == replacements.end();
    out += stays ? text.substr(0, 1) : found->second;
    text.remove_prefix(stays ? 1 : found->first.size());
  }
  return out;
}

std::string list_rules(bool color) {
  std::string text;
  std::string section;
  for (const Rule& rule : all_rules()) {
    if (section != heading(rule)) {
      section = heading(rule);
      text += std::string(text.empty() ? "" : "\n") + paint(color, kBold, section) + "\n";
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
  text += wrapped(std::string(severity_name(rule.severity)) + "; seen by a " +
                      std::string(depth_name(rule.depth)) + " check; " + heading(rule),
                  0) +
          "\n";
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
  const Json all = array_json(rules, [](const Rule* rule) {
    return Json{{"rule", rule->code},
                {"name", rule->name},
                {"title", rule->title},
                {"source", source_name(*rule)},
                {"section", rule->section},
                {"severity", severity_name(rule->severity)},
                {"depth", depth_name(rule->depth)},
                {"requirement", rule->requirement},
                {"reason", rule->reason},
                {"fix", fix_json(rule->fix)},
                {"fix_gcc", fix_json(rule->fix_gcc)},
                {"fix_clang", fix_json(rule->fix_clang)},
                {"fix_rust", fix_json(rule->fix_rust)},
                {"fix_cmake", fix_json(rule->fix_cmake)}};
  });
  return json_text(all, 2) + "\n";
}

}  // namespace labelscope::cli
