// labelscope check: its options, and how they are typed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command_parser.h"
#include "cli/options/message_options.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

enum class CheckFormat { kText, kJson, kJunit, kSarif, kGithub };

struct CheckOptions {
  // One of these is given.
  std::vector<std::string> paths;  // files and directories
  std::optional<Pid> pid;
  std::vector<std::string> command;
  bool list_rules = false;

  std::vector<std::string> rules;    // those to be explained; empty: all, as a list
  bool step = false;                 // the command, one instruction at a time
  std::vector<std::string> updates;  // functions that are one update each
  // What is not given is up to the kind of check (live.h, step.h).
  std::optional<std::uint64_t> samples;
  std::optional<std::chrono::milliseconds> timeout;
  CheckFormat format = CheckFormat::kText;
  std::string output = "-";
  bool overwrite = false;
  bool strict = false;
  std::string baseline;  // file name; empty: none
  MessageOptions messages;
};

class CheckParser final : public CommandParser {
 public:
  const char* name() const override { return "check"; }
  const char* usage() const override;
  void add_to(CLI::App& app) override;
  Options checked(const CommandTail& tail) const override;
  bool takes_command() const override { return true; }

 private:
  bool given(const char* option) const;
  void check_target(const CheckOptions& options) const;
  void check_depth(CheckOptions& options) const;
  void check_output(CheckOptions& options) const;

  CLI::App* check_ = nullptr;
  MessageOptionsParser messages_;
  // What is typed, before it is checked.
  std::vector<std::string> words_, pids_, updates_;
  std::string samples_, timeout_, format_ = "text", output_ = "-", baseline_;
  bool rules_ = false, step_ = false, strict_ = false, overwrite_ = false;
};

}  // namespace labelscope::cli
