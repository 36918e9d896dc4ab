// A preset says how labels of a stock server are read, which publishes none: where the server keeps
// what it works on, in which versions, and how one sees that it is valid. It is a text file, so
// that a new version of a server needs no new labelscope:
//
//   preset redis 1
//   about  Redis and Valkey: command, user, client name and database of the command that runs
//   match  server redisCommandTable|serverCommandTable     symbols, all in one file
//   only   main-thread                                     no other thread has these labels
//   variant 7.0 when server.size==4368 set cur=752 cmd=112    numbers of a version: $cur, $cmd
//   let    c = server+$cur->                               a name for the way to a structure;
//                                       several may have one name, each with an `if`
//   need   c+8:u64 != 0 "no command runs"                  or else the thread's labels are stale
//   label  command = c+$cmd->+400:cstr unless "GET" class=low
//   private query  = c+$text:cstr fingerprint              is read only if the user names it
//   truth  INFO commandstats                               the server's own account, for people
//
// An expression begins with a SYMBOL (the variable's place), a name of `let`, FUNCTION() (the
// result of an accessor, accessor.h), @title, @comm (the thread's name), @tid, a number,
// $PARAMETER, &SYMBOL or SYMBOL.size. Steps lead on: +N, -> (what the pointer there points to),
// .FUNCTION() (an accessor of what is there) and ->find(+N:u32==C,next=+M,max=K), which searches a
// list. :TYPE reads the value; the types are those of --variable (variable_spec.h).
//
// A file of another origin may be damaged or hostile: everything is bounded, and a refusal has the
// number of the line. A bad file does no worse than a wrong label, since a preset can only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/variable_spec.h"
#include "sources/preset/fingerprint.h"

namespace labelscope {

inline constexpr std::size_t kMostPresetBytes = std::size_t{64} * 1024;
inline constexpr std::size_t kMostPresetVariants = 64;
// A structure of a server is smaller. The bound keeps sums of offsets within 32 bits.
inline constexpr std::int64_t kMostPresetOffset = 1 << 20;

// A number of the file, or one that the variant sets.
struct PresetNumber {
  std::int64_t value = 0;
  std::string parameter;  // without $; empty for a number
};

// ->find(+field:u32==value,next=+next,max=most): the first node of a list whose field has the value
struct PresetSearch {
  PresetNumber field;
  PresetNumber value;
  PresetNumber next;
  unsigned most = 0;
};

struct PresetStep {
  enum class Kind { kAdd, kFollow, kCall, kFind };
  Kind kind{};
  PresetNumber number{};   // kAdd
  std::string function{};  // kCall
  PresetSearch search{};   // kFind; a kFollow stands in front
};

struct PresetExpression {
  enum class Base {
    kSymbol,
    kLet,
    kFunction,
    kTitle,
    kComm,
    kTid,
    kNumber,
    kSymbolAddress,
    kSymbolSize
  };
  // Whether it is a text that no step leads to, and that has no type.
  bool is_fact() const { return base == Base::kTitle || base == Base::kComm; }
  Base base{};
  std::string name{};     // of the symbol, the function or the `let`
  PresetNumber number{};  // kNumber
  std::vector<PresetStep> steps{};
  std::optional<VariableType> type{};
  std::string text{};  // as it is written
};

struct PresetCondition {
  enum class Comparison { kEqual, kNotEqual, kGreater, kLess, kEven };
  PresetExpression left;
  Comparison comparison{};
  PresetExpression right{};  // not of kEven
  std::string text{};        // as it is written
};

// What is done to a text before anything is stored.
struct PresetTransform {
  enum class Kind { kPath, kWord, kAfter, kFingerprint, kMap };
  Kind kind{};
  unsigned word = 0;                                       // kWord: from 1
  SqlDialect dialect = SqlDialect::kStandard;              // kFingerprint
  std::string after{};                                     // kAfter: what follows this text
  std::vector<std::pair<std::string, std::string>> map{};  // kMap: names of values
};

// How many values a label may have: a few (databases), hundreds (routes), or no end of them. The
// command line keeps so many of them in a recording.
enum class PresetClass { kLow, kMiddle, kHigh };

// A name for the way to a structure.
struct PresetLet {
  std::string name;
  PresetExpression value;
  // If it holds, the name is the pointer that the value ends in. Names without one are only a short
  // form of their value.
  std::optional<PresetCondition> condition{};
};

struct DescribedLabel {
  std::string key;
  PresetExpression value;
  std::vector<PresetTransform> transforms{};  // one after the other
  std::vector<PresetCondition> conditions{};  // all must hold
  std::optional<PresetNumber> unless{};       // this number is no label
  bool unless_empty = false;                  // an empty text is no label
  PresetClass cardinality = PresetClass::kMiddle;
  // A label whose values are numbers of what this one names: db is the name of db_oid. Where only
  // the number is known, other processes of the server may know the name.
  std::string names{};
  bool is_private = false;
  std::size_t line = 0;
};

struct PresetNeed {
  PresetCondition condition;
  std::string why;  // why there are no labels if it does not hold
};

struct PresetVariant {
  struct Test {
    std::string symbol;
    bool absent = false;                // the symbol must not be there
    std::optional<std::uint64_t> size;  // the symbol must have this size
  };
  std::string name;
  std::vector<Test> tests;  // all must hold; the first variant of the file that fits is taken
  std::map<std::string, std::int64_t> parameters;
};

struct PresetDescription {
  std::string name;
  unsigned version = 0;
  std::string about;
  // One of each group must be there, all in one file. It is empty for `match *`: any program.
  std::vector<std::vector<std::string>> match;
  std::vector<std::string> match_none;  // these must not be there
  bool only_main_thread = false;
  std::vector<PresetVariant> variants;  // without any, the numbers hold for all versions
  std::vector<PresetLet> lets;
  std::vector<PresetNeed> needs;
  std::vector<DescribedLabel> labels;
  std::string truth;
};

// The context of an error says in which line what is wrong: "line 12: ...".
Result<PresetDescription> parse_preset(std::string_view text);

// Parses one expression, without the names of `let`.
Result<PresetExpression> parse_preset_expression(std::string_view text);

}  // namespace labelscope
