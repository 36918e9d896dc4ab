// The rules of `labelscope check`: one for each sentence of Custom Labels ABI v1 that a writer can
// break, with a number and a name that never change their meaning and are never used again.
//
// Source: Custom Labels ABI v1 (writer-lib/ABI.md); `section` is the heading there. Constants only:
// thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

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

enum class RuleId {
  // Platform and file
  kPlatform,         // LS001
  kLoadedAtStartup,  // LS002
  kLibraryFileName,  // LS003
  // custom_labels_abi_version
  kVersionExported,  // LS010
  kVersionSize,      // LS011
  kVersionValue,     // LS012
  kVersionConstant,  // LS013 warning: in memory that can be written
  kVersionKind,      // LS014 not a data object: thread-local, or a function
  // custom_labels_current_set
  kCurrentSetExported,     // LS020
  kCurrentSetThreadLocal,  // LS021
  kCurrentSetSize,         // LS022
  kCurrentSetAligned,      // LS023 warning: one store cannot publish it
  // Access
  kExecutableStaticOffset,  // LS030
  kLibraryTlsDescriptor,    // LS031
  kDescriptorNamed,         // LS032 warning: the relocation does not name the symbol
  // Data
  kSetReadable,      // LS040
  kStorageReadable,  // LS041
  kKeyReadable,      // LS042
  kValueReadable,    // LS043
  kValueNotNull,     // LS044
  kKeysUnique,       // LS045 note
  kKeyNotNull,       // LS046 note
  kDataAligned,      // LS047 warning: a set or a storage array at an odd address
  kReaderLimits,     // LS048 warning: more than readers keep
  // Updates
  kTornUpdate,  // LS050 neither the set before the update nor the one after it
};
inline constexpr std::size_t kRuleCount = 25;

struct Rule {
  RuleId id{};
  const char* code;     // "LS001"
  const char* name;     // "platform": lower case, hyphens
  const char* title;    // one line, what is wanted
  const char* section;  // heading of the ABI
  Severity severity{};
  CheckDepth depth{};       // the least deep one that sees a violation
  const char* requirement;  // what ABI v1 asks for
  const char* reason;       // what a reader sees otherwise
  // How to comply: a sentence or a few lines each. Null: the same for every tool.
  const char* fix;
  const char* fix_gcc;
  const char* fix_clang;  // with the versions that cannot
  const char* fix_rust;
  const char* fix_cmake;
};

// All, by code.
std::span<const Rule> all_rules();
const Rule& rule_of(RuleId id);
// By code or name ("LS003", "library-file-name"); null if there is none.
const Rule* find_rule(std::string_view code_or_name);

}  // namespace labelscope
