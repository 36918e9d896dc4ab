// labelscope dump: its options, and how they are typed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/options/command_parser.h"
#include "cli/options/message_options.h"
#include "cli/options/values.h"
#include "labelscope/core_file.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

struct DumpOptions {
  std::vector<Pid> pids;  // either these
  std::string core;       // or this
  CoreOptions core_files;
  bool json = false;
  bool stacks = false;
  bool explain = false;
  Backend backend = Backend::kAuto;  // ptrace, and where that is refused, BPF
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
  MessageOptions messages;
};

class DumpParser final : public CommandParser {
 public:
  const char* name() const override { return "dump"; }
  const char* usage() const override;
  void add_to(CLI::App& app) override;
  Options checked(const CommandTail& tail) const override;

 private:
  bool given(const char* option) const;
  void check_live(DumpOptions& options) const;
  void check_core(DumpOptions& options) const;

  CLI::App* dump_ = nullptr;
  MessageOptionsParser messages_;
  // What is typed, before it is checked.
  std::vector<std::string> pids_, sysroots_, files_;
  std::string core_, executable_, backend_ = "auto", max_stop_ = "5ms";
  bool json_ = false, stacks_ = false, explain_ = false;
};

}  // namespace labelscope::cli
