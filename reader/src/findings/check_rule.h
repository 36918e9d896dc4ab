// These are the rules of `labelscope check`: one for each sentence of a label source's description
// that a writer can break, with a number and a name that never change their meaning and are never
// used again. Each source owns a table of them (sources/label_source.h). All are constants, so they
// are thread-safe.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "labelscope/finding.h"

namespace labelscope {

enum class Severity {
  kNote,     // legal, but good to know
  kWarning,  // legal, but some readers will have trouble, or all readers at some moments
  kError,    // against what the source describes
};
std::string_view severity_name(Severity severity);  // "note", "warning", "error"

// What the check must look at to see a violation.
enum class CheckDepth { kStatic, kLive, kStep };
std::string_view depth_name(CheckDepth depth);  // "static", "live", "step"

// What a rule speaks of: a file, what one thread publishes, or what its process publishes once for
// all threads. The last two are seen together; a mistake of the process is reported once.
enum class RuleSubject { kFile, kThread, kProcess };

struct RuleHead {
  RuleId id{};
  const char* code;     // "LS001"
  const char* name;     // "platform": lower case, hyphens
  const char* section;  // heading of the source's description
  Severity severity{};
  CheckDepth depth{};  // the least deep check that sees a violation
  RuleSubject about{};
};

struct RuleText {
  const char* title;        // one line: what the rule wants
  const char* requirement;  // what the source requires
  const char* reason;       // what a reader sees otherwise
  // How to comply: a sentence or a few lines each. It is null if the fix is the same for every
  // tool.
  const char* fix;
  const char* fix_gcc = nullptr;
  const char* fix_clang = nullptr;  // with the versions that cannot do it
  const char* fix_rust = nullptr;
  const char* fix_cmake = nullptr;
};

struct Rule : RuleHead, RuleText {};

// Returns all rules, by code.
std::span<const Rule> all_rules();
const Rule& rule_of(RuleId id);  // kNone has no rule
// Finds a rule by code, also without LS and zeros, or by name ("LS003", "3", "library-file-name").
// Returns null if there is none.
const Rule* find_rule(std::string_view code_or_name);
// Returns a source's rules about threads whose violations a check of this depth sees.
std::vector<RuleId> rules_of_threads(unsigned source, CheckDepth depth);

}  // namespace labelscope
