// labelscope report: its options.
#pragma once

#include <string>
#include <vector>

#include "cli/options/output_options.h"
#include "cli/options/selection_options.h"

namespace labelscope::cli {

// If `outputs` is empty, no file is written, and the report describes the recordings.
struct ReportOptions : OutputOptions, SelectionOptions {
  std::vector<std::string> recordings;  // "-" is stdin

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
