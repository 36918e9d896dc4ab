// labelscope check: its options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "cli/options/target_options.h"

namespace labelscope::cli {

enum class CheckFormat { kText, kJson, kJunit, kSarif, kGithub };

struct CheckOptions {
  // The command line has one of these.
  std::vector<std::string> paths;  // files and directories
  TargetOptions wanted;            // a process
  std::vector<std::string> command;
  bool list_rules = false;

  std::vector<std::string> rules;    // the rules to explain; empty: list all
  bool step = false;                 // run the command one instruction at a time
  std::vector<std::string> updates;  // functions whose every call is one update
  // If it is not given, the kind of check decides (check/programs.h).
  std::optional<std::uint64_t> samples;
  std::optional<std::chrono::milliseconds> timeout;
  CheckFormat format = CheckFormat::kText;
  std::string output = "-";
  bool overwrite = false;
  bool strict = false;
  std::string baseline;  // name of the file; empty: none
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // Checks the options together, after the list has been read. Throws as reading does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
