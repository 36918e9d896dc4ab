// labelscope report: its options.
#pragma once

#include <string>
#include <vector>

#include "cli/options/output_options.h"
#include "cli/options/selection_options.h"

namespace labelscope::cli {

// `outputs` empty: nothing is written, and what the recordings hold is told.
struct ReportOptions : OutputOptions, SelectionOptions {
  std::vector<std::string> recordings;  // "-" is stdin

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
