// The rules of `labelscope check`: one for each sentence of Custom Labels ABI v1 that a writer can
// break, with a number and a name that never change their meaning and are never used again.
//
// Source: Custom Labels ABI v1 (writer-lib/ABI.md); `section` is the heading there. Constants only:
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace labelscope {

enum class Severity {
  kNote,     // legal, but good to know
  kWarning,  // legal, but some readers will have trouble, or all readers at some moments
  kError,    // against ABI v1
};
std::string_view severity_name(Severity severity);  // "note", "warning", "error"

// What the check must look at to see a violation.
enum class CheckDepth { kStatic, kLive, kStep };
std::string_view depth_name(CheckDepth depth);  // "static", "live", "step"

// What a rule speaks of.
enum class RuleSubject { kFile, kLabelSet };

// The number in the code: LS001 is 1. A source of labels has a hundred of its own.
enum class RuleId : std::uint16_t {
  kNone = 0,  // of a finding: no rule forbids it
  // Custom Labels ABI v1. Platform and file
  kPlatform = 1,
  kLoadedAtStartup = 2,
  kLibraryFileName = 3,
  // custom_labels_abi_version
  kVersionExported = 10,
  kVersionSize = 11,
  kVersionValue = 12,
  kVersionConstant = 13,  // warning: in memory that can be written
  kVersionKind = 14,      // not a data object: thread-local, or a function
  // custom_labels_current_set
  kCurrentSetExported = 20,
  kCurrentSetThreadLocal = 21,
  kCurrentSetSize = 22,
  kCurrentSetAligned = 23,  // warning: one store cannot publish it
  // Access
  kExecutableStaticOffset = 30,
  kLibraryTlsDescriptor = 31,
  kDescriptorNamed = 32,  // warning: the relocation does not name the symbol
  // Data
  kSetReadable = 40,
  kStorageReadable = 41,
  kKeyReadable = 42,
  kValueReadable = 43,
  kValueNotNull = 44,
  kKeysUnique = 45,    // note
  kKeyNotNull = 46,    // note
  kDataAligned = 47,   // warning: a set or a storage array at an odd address
  kReaderLimits = 48,  // warning: more than readers keep
  // Updates
  kTornUpdate = 50,  // neither the set before the update nor the one after it
};

struct RuleHead {
  RuleId id{};
  const char* code;     // "LS001"
  const char* name;     // "platform": lower case, hyphens
  const char* section;  // heading of the ABI
  Severity severity{};
  CheckDepth depth{};  // the least deep one that sees a violation
  RuleSubject about{};
};

struct RuleText {
  const char* title;        // one line, what is wanted
  const char* requirement;  // what ABI v1 asks for
  const char* reason;       // what a reader sees otherwise
  // How to comply: a sentence or a few lines each. Null: the same for every tool.
  const char* fix;
  const char* fix_gcc = nullptr;
  const char* fix_clang = nullptr;  // with the versions that cannot
  const char* fix_rust = nullptr;
  const char* fix_cmake = nullptr;
};

struct Rule : RuleHead, RuleText {};

// All, by code.
std::span<const Rule> all_rules();
const Rule& rule_of(RuleId id);  // kNone has none
// By code or name ("LS003", "library-file-name"); null if there is none.
const Rule* find_rule(std::string_view code_or_name);
// Those about label sets whose violations a check of this depth sees.
std::vector<RuleId> rules_of_label_sets(CheckDepth depth);

}  // namespace labelscope
