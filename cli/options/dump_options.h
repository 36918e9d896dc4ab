// labelscope dump: its options.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/host/rights.h"
#include "cli/options/common_options.h"
#include "cli/options/label_options.h"
#include "cli/options/target_options.h"
#include "cli/options/values.h"
#include "labelscope/core_file.h"

namespace labelscope::cli {

struct DumpOptions {
  TargetOptions wanted;  // either these are given
  std::string core;      // or this one
  CoreOptions core_files;
  LabelOptions unpublished;  // labels that no program publishes
  FunctionNameOptions function_names;
  bool json = false;
  bool stacks = false;
  bool explain = false;
  Backend backend = Backend::kAuto;  // BPF if it reads the same, else ptrace
  std::chrono::nanoseconds max_stop{};
  std::optional<User> drop_to;  // user to become as soon as no more rights are needed
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // Checks the options together, after the list has been read. Throws as reading does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
