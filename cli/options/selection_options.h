// Options that report and diff share: which samples of recordings are selected.
#pragma once

#include "cli/answer/selection.h"
#include "cli/options/option_list.h"

namespace labelscope::cli {

struct SelectionOptions {
  Selection selection;

  void declare(OptionList& list);
  void check() const;
};

}  // namespace labelscope::cli
