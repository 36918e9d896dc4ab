#include "cli/check/rule_words.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/format/escape.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

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
