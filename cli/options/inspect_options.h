// labelscope inspect: its options.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"

namespace labelscope::cli {

struct InspectOptions {
  std::vector<std::string> paths;  // files and directories
  bool all = false;                // show files below directories even if they publish nothing
  bool details = false;            // show them for every file; a single file has them anyway
  bool json = false;
  bool unwind = false;  // inspect stacks instead of labels
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // Checks the options together, after the list has been read. Throws as reading does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
