// labelscope inspect: its options.
#pragma once

#include <string>
#include <vector>

#include "cli/options/message_options.h"

namespace labelscope::cli {

struct InspectOptions {
  std::vector<std::string> paths;  // files and directories
  bool all = false;                // of directories, also files that publish nothing
  bool details = false;            // of every file that is shown; a single file has them anyway
  bool json = false;
  bool unwind = false;  // tells of stacks instead of labels
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // What cannot be told from one option alone, after the list has been read. Throws as that does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
