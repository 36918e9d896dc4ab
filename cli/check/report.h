// What `labelscope check` found out, for its renderers (text, json, junit, sarif, github).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/check_rule.h"
#include "labelscope/diagnostic.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// A file, or what a process's threads published: one subject of the verdict.
struct CheckedSubject {
  std::string name;  // path of the file; "process 12 (service)"
  // Of rules that apply and were looked at, by code. Rules of the file and of the data both.
  std::vector<RuleId> rules;
  std::vector<Diagnostic> diagnostics;  // by code, then as found
  // Of a process: the file whose labels these are, where that is known.
  std::string publisher = {};
};

// Something that could not be checked at all: status 3.
struct CheckProblem {
  std::string name;
  Error error;
};

// What was not proven although nothing kept it from being checked: a warning.
struct CheckGap {
  std::string name;  // a stable word: "unseen-updates"
  std::string text;
};

// How deep it went, for whoever doubts a clean verdict. Zeros where it was not done. A process of
// which no labels were seen (labelled and updates 0) and a program that failed by itself are
// problems to the command: checks need not say so.
struct CheckEffort {
  std::uint64_t samples = 0;   // label sets read of stopped threads
  std::uint64_t labelled = 0;  // of those, sets with labels in them
  std::uint64_t threads = 0;   // different ones
  std::uint64_t steps = 0;     // instructions stepped
  std::uint64_t updates = 0;   // changes from one label set to another that were stepped through
  // Changes that happened while a thread ran freely; those that are not proven are a gap.
  std::uint64_t unseen_updates = 0;
  std::chrono::nanoseconds stepping{0};  // time that stepping took
};

struct CheckReport {
  std::vector<CheckedSubject> subjects;
  std::vector<CheckProblem> problems;
  std::vector<CheckGap> gaps;
  CheckEffort effort;
  // Of a program that check started: its wait status, once it has ended.
  std::optional<int> wait_status;
  // That program was ended by check (timeout, Ctrl-C): how it ended says nothing about it.
  bool ended_by_check = false;
  // What the verdict depends on and the user should know ("the program set no labels"), a sentence
  // each.
  std::vector<std::string> remarks;
};

}  // namespace labelscope::cli
