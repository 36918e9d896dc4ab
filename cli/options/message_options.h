// Options that every command has: how much it prints, and in which colours.
#pragma once

#include "cli/host/log.h"
#include "cli/host/terminal.h"
#include "cli/options/option_list.h"

namespace labelscope::cli {

struct MessageOptions {
  ColorMode color = ColorMode::kAuto;
  log::Level log_level = log::Level::kNormal;
  bool progress = true;  // show a status line on a terminal

  void declare(OptionList& list);
  void check(const OptionList& list);  // call it after the list has been read
};

}  // namespace labelscope::cli
