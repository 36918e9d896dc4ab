// A finding is something about a publisher of labels that keeps readers from finding or reading it,
// or that deviates from the ABI. It has a stable name, what was found, the smallest fix, and the
// rule that it breaks. Findings are made by planning (plan.h), inspecting a file (inspect.h),
// checking a label set (check_set.h) and explaining a thread (explain.h), with the same words for
// the same fact everywhere.
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of labelscope need C++20 (-std=c++20); labelscope/labelscope.h is for C"
#endif

#include <cstdint>
#include <string>
#include <string_view>

namespace labelscope {

// This is the number in the code: LS001 is 1. Each label source has a hundred numbers of its own,
// from its number in enum ls_source times a hundred on, and names them in its folder
// (sources/custom_labels/rules.h).
enum class RuleId : std::uint16_t { kNone = 0 };  // kNone means that no rule forbids what was found
constexpr unsigned source_of(RuleId rule) { return static_cast<unsigned>(rule) / 100; }

enum class FindingCode {
  kRule,               // it has no word of its own: the name of the rule is its word
  kNotExported,        // defined, but only in .symtab
  kNoPublisher,        // no loaded file has either symbol
  kNoSymbols,          // no symbol table that could have them (stripped, static)
  kLocalSymbol,        // STB_LOCAL: declared static, or hidden by a version script
  kVersionMissing,     // there is a current set without a version
  kCurrentSetMissing,  // there is a version without a current set
  kVersionSize,        // version is not 4 bytes
  kVersionUnknown,     // version is not 1
  kVersionUnreadable,  // its memory cannot be read
  kNotThreadLocal,     // current set is no STT_TLS symbol
  kCurrentSetSize,     // current set is not 8 bytes
  kFileName,           // a library whose name ABI v1 does not find
  kAsyncLocalStorage,  // labels of node's asynchronous work, which are not read
  kNoTlsDesc,          // a library that does not reach the variable by a TLS descriptor
  kNotRelocated,       // the loader has not filled the slot yet
  kUnresolved,         // no way to the variable was found
  kUnreadableFile,     // the file cannot be opened or parsed
  kTooManyPublishers,
  kNeverTouched,         // this thread has no TLS block for the variable
  kBadPointer,           // a pointer leads to memory that is not there
  kMalformedSet,         // impossible lengths, counts or pointers
  kNullValue,            // a key whose value is null
  kTornRecord,           // the checksum of a record does not fit
  kVariableSize,         // the variable is not as large as its format says
  kRecordInvalid,        // a record whose mark is neither that of a valid nor of no record
  kIncompleteAttribute,  // the last attribute of a record ends behind the record
  kUnknownKey,           // an attribute whose key is a number without a name
  kKeyMapMissing,        // the names of keys are not published
  kUnknownSchema,        // the names are for records of another kind
  kContextVersion,       // a process context of another version
  kContextSize,          // a process context that claims to be too large
  kContextMalformed,     // a process context that contradicts itself
  kContextChanging,      // a process context that was being replaced at every read
  kGoVersion,            // a Go runtime of unknown layout
  kGoSlot,               // a Go runtime without a known way to the running goroutine
  kGoChain,              // the words that should lead to a goroutine contradict each other
  kNoVariable,           // the user has named a variable that no file has
  kSeveralVariables,     // the user has named several variables, which cannot be distinguished
  kOutsideBlock,         // the user has named a place outside of the module's TLS block
  kNoPreset,             // the user's preset fits no file, or no version that it knows
  kStaleValues,          // a check of a preset does not hold: values of an earlier owner
};

// Which readers get the labels in spite of a finding.
enum class Harm {
  kUnreadable,  // no reader gets them
  kOverlooked,  // labelscope gets them; readers that keep to the letter of the ABI do not find them
  kSlight,  // every reader gets them, but some will have trouble, or all of them at some moments
};

struct Finding {
  FindingCode code = FindingCode::kRule;
  std::string text;             // what was found, a clause
  std::string fix;              // the smallest fix, a clause; may be empty
  RuleId rule = RuleId::kNone;  // the rule that it breaks
  Harm harm = Harm::kUnreadable;
};

// Returns a stable word for machines: "not-exported", "file-name", ...
std::string_view finding_name(const Finding& finding);
// Returns the same for people, with the rule: "LS003 file-name".
std::string finding_title(const Finding& finding);

// Returns both in one clause: "what was found: the fix".
std::string finding_clause(const Finding& finding);

}  // namespace labelscope
