// A diagnostic is what `labelscope check` reports: a finding, and where it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/ids.h"

namespace labelscope {

// A place in the checked program's code.
struct CodePlace {
  std::string module;    // path of the file; empty if it lies in none
  Address address = 0;   // in that file's own addresses (runtime address - load bias)
  std::string function;  // demangled; empty if unknown
  std::string file;      // source file, by its name in the debug information; empty if unknown
  std::uint32_t line = 0;
};

// A finding that breaks a rule. Like all strings here that come from the target, its text is raw
// bytes: escape them before you print them.
struct Diagnostic : Finding {
  // The subject: a file's path, or a thread ("thread 12 (worker)").
  std::string subject = {};
  std::uint64_t count = 1;  // how often it was seen

  // Where the state came up: the instruction, then its callers, innermost first. Only updates that
  // were stepped through have places.
  std::vector<CodePlace> places = {};
  // Index of the place that the writer's author should look at: the instruction, or the call of
  // free(), memcpy(), ... if the instruction is in these.
  std::size_t author_place = 0;
  std::string instruction = {};  // disassembled; empty if unknown
  // Label sets as people read them ("{http.route=/pay, tenant=42}", "(none)", "(unreadable)"),
  // escaped: before the update, at this moment, and after it. Empty if there was no update.
  std::string set_before = {};
  std::string set_seen = {};
  std::string set_after = {};
};

}  // namespace labelscope
