// labelscope dump: its options.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/host/rights.h"
#include "cli/options/label_options.h"
#include "cli/options/message_options.h"
#include "cli/options/values.h"
#include "labelscope/core_file.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

struct DumpOptions {
  std::vector<Pid> pids;  // either these
  std::string core;       // or this
  CoreOptions core_files;
  LabelOptions unpublished;                // labels that no program publishes
  std::vector<std::string> debug_folders;  // to be trusted with debug files
  bool json = false;
  bool stacks = false;
  bool explain = false;
  Backend backend = Backend::kAuto;  // ptrace, and where that is refused, BPF
  std::chrono::nanoseconds max_stop{};
  std::optional<User> drop_to;  // the user to become, once nothing needs more rights
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // What cannot be told from one option alone, after the list has been read. Throws as that does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
