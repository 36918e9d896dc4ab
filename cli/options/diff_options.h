// labelscope diff: its options.
#pragma once

#include <string>
#include <vector>

#include "cli/options/message_options.h"
#include "cli/options/selection_options.h"

namespace labelscope::cli {

struct DiffOptions : SelectionOptions {
  std::vector<std::string> recordings;  // A and B; "-" is stdin
  std::vector<std::string> keys;        // empty: all keys with few values
  std::string page;                     // file name; empty: no page is written
  bool overwrite = false;
  bool json = false;
  std::string command_line;
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
