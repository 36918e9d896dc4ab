// Options that every command has: how much it says, and in which colours.
#pragma once

#include <string>

#include "cli/host/log.h"
#include "cli/host/terminal.h"

namespace CLI {
class App;
}

namespace labelscope::cli {

struct MessageOptions {
  ColorMode color = ColorMode::kAuto;
  log::Level log_level = log::Level::kNormal;
  bool progress = true;  // a status line, on a terminal
};

class MessageOptionsParser {
 public:
  void add_to(CLI::App& command);
  MessageOptions checked() const;

 private:
  std::string color_ = "auto";
  bool quiet_ = false;
  bool verbose_ = false;
  bool no_progress_ = false;
};

}  // namespace labelscope::cli
