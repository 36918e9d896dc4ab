// labelscope record: its options.
#pragma once

#include <vector>

#include "cli/options/common_options.h"
#include "cli/options/session_options.h"

namespace labelscope::cli {

// If `outputs` is empty, labelscope writes files with names of its own.
struct RecordOptions : OutputOptions, SessionOptions {
  bool end_command = false;      // when the recording is over
  std::vector<Condition> where;  // only such samples go into files and tables
  bool strict = false;           // an account that differs is an exit status

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // Checks the options together, after the list has been read. Throws as reading does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
