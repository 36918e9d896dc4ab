// labelscope check: its options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/message_options.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

enum class CheckFormat { kText, kJson, kJunit, kSarif, kGithub };

struct CheckOptions {
  // One of these is given.
  std::vector<std::string> paths;  // files and directories
  std::optional<Pid> pid;
  std::vector<std::string> command;
  bool list_rules = false;

  std::vector<std::string> rules;    // those to be explained; empty: all, as a list
  bool step = false;                 // the command, one instruction at a time
  std::vector<std::string> updates;  // functions that are one update each
  // What is not given is up to the kind of check (check/programs.h).
  std::optional<std::uint64_t> samples;
  std::optional<std::chrono::milliseconds> timeout;
  CheckFormat format = CheckFormat::kText;
  std::string output = "-";
  bool overwrite = false;
  bool strict = false;
  std::string baseline;  // file name; empty: none
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // What cannot be told from one option alone, after the list has been read. Throws as that does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
