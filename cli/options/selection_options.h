// Options that report and diff share: which samples of recordings are selected.
#pragma once

#include <string>

#include "cli/answer/selection.h"
#include "cli/options/option_list.h"

namespace labelscope::cli {

struct SelectionOptions {
  Selection selection;
  std::string value;  // the wanted value of a pprof file; empty: choose_values() decides

  void declare(OptionList& list);
  void check() const;
};

}  // namespace labelscope::cli
