// What `labelscope check` found out, for its renderers (text, json, junit, sarif, github).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/host/check_effort.h"
#include "findings/check_rule.h"
#include "findings/diagnostic.h"
#include "labelscope/ids.h"
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

inline std::string process_name(Pid pid, const std::string& comm) {
  return "process " + std::to_string(raw(pid)) + " (" + comm + ")";
}

// Something that could not be checked at all: status 3.
struct CheckProblem {
  std::string name;
  Error error;
};

// Of a process in which nothing was found that publishes labels: `absence` is the plan's reason.
inline Error nothing_published(const std::string& absence) {
  if (!absence.empty()) return {ErrorCode::kNotFound, absence};
  return {ErrorCode::kVanished, "it ended before its files could be looked at"};
}

// What was not proven although nothing kept it from being checked: a warning.
struct CheckGap {
  std::string name;  // a stable word: "unseen-updates"
  std::string text;
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
