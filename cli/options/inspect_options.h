// labelscope inspect: its options, and how they are typed.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command_parser.h"
#include "cli/options/message_options.h"

namespace labelscope::cli {

struct InspectOptions {
  std::vector<std::string> paths;  // files and directories
  bool all = false;                // of directories, also files that publish nothing
  bool details = false;            // of every file that is shown; a single file has them anyway
  bool json = false;
  MessageOptions messages;
};

class InspectParser final : public CommandParser {
 public:
  const char* name() const override { return "inspect"; }
  const char* usage() const override { return "labelscope inspect [OPTIONS] FILE|DIRECTORY..."; }
  void add_to(CLI::App& app) override;
  Options checked(const CommandTail& tail) const override;

 private:
  InspectOptions typed_;
  MessageOptionsParser messages_;
};

}  // namespace labelscope::cli
