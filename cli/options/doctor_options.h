// labelscope doctor: its options.
#pragma once

#include "cli/options/common_options.h"
#include "cli/options/target_options.h"

namespace labelscope::cli {

struct DoctorOptions {
  TargetOptions wanted;
  bool json = false;
  MessageOptions messages;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // Checks the options together, after the list has been read. Throws as reading does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
