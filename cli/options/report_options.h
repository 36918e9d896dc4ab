// The options of report and diff, which read recordings.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"

namespace labelscope::cli {

// If `outputs` is empty, no file is written, and the report describes the recordings.
struct ReportOptions : OutputOptions, SelectionOptions {
  std::vector<std::string> recordings;  // "-" is stdin

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  void check(const OptionList& list, const CommandTail& tail);
};

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
