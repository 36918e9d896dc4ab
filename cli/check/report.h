// This is what `labelscope check` found out, for its renderers (text, json, junit, sarif, github).
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

// A subject of the verdict: a file, or what a process's threads published.
struct CheckedSubject {
  std::string name;  // path of the file, or "process 12 (service)"
  // The rules that apply and were checked, by code: rules of the file and of the data.
  std::vector<RuleId> rules;
  std::vector<Diagnostic> diagnostics;  // by code, then in the order in which they were found
  // For a process: the file that publishes these labels, if it is known.
  std::string publisher = {};
};

inline std::string process_name(Pid pid, const std::string& comm) {
  return "process " + std::to_string(raw(pid)) + " (" + comm + ")";
}

// Something that could not be checked at all. It makes the exit status 3.
struct CheckProblem {
  std::string name;
  Error error;
};

// Returns the error for a process in which no publisher was found; `absence` is the plan's reason.
inline Error nothing_published(const std::string& absence) {
  if (!absence.empty()) return {ErrorCode::kNotFound, absence};
  return {ErrorCode::kVanished, "it ended before its files could be looked at"};
}

// Something that was not proven although nothing kept it from being checked. It is a warning.
struct CheckGap {
  std::string name;  // a stable word: "unseen-updates"
  std::string text;
};

struct CheckReport {
  std::vector<CheckedSubject> subjects;
  std::vector<CheckProblem> problems;
  std::vector<CheckGap> gaps;
  CheckEffort effort;
  // The wait status of a program that check started, once it has ended.
  std::optional<int> wait_status;
  // check has ended that program (timeout, Ctrl-C): how it ended means nothing.
  bool ended_by_check = false;
  // What the verdict depends on and the user should know ("the program set no labels"). Each is a
  // sentence.
  std::vector<std::string> remarks;
};

}  // namespace labelscope::cli
