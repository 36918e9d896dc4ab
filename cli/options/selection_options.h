// Options that report and diff share: which samples of recordings are selected.
#pragma once

#include <string>

#include "cli/answer/selection.h"
#include "cli/options/option_list.h"

namespace labelscope::cli {

struct SelectionOptions {
  Selection selection;
  std::string value;  // which of a pprof file's values; empty: as choose_values() does

  void declare(OptionList& list);
  void check() const;
};

}  // namespace labelscope::cli
