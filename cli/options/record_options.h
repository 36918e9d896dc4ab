// labelscope record: its options, and how they are typed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/format/format.h"
#include "cli/options/command_parser.h"
#include "cli/options/message_options.h"
#include "cli/options/values.h"
#include "labelscope/ids.h"
#include "labelscope/ptrace_sampler.h"

namespace labelscope::cli {

struct RecordOptions {
  std::vector<Pid> pids;             // either these
  std::vector<std::string> command;  // or this
  std::optional<std::chrono::nanoseconds> duration;
  std::uint32_t frequency_hz = 99;
  Backend backend = Backend::kAuto;
  SampleMode mode = SampleMode::kCpu;
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);  // ptrace only
  std::vector<std::string> outputs;  // "-" is stdout; empty: one file with a name of its own
  std::optional<Format> format;      // of every output; otherwise by extension
  bool overwrite = false;
  std::string call_graph;  // for find_call_graph()
  bool kernel_stacks = true;
  bool follow_children = true;
  std::vector<std::string> group_by;
  std::vector<std::string> summary;
  bool json = false;  // the summary as JSON
  std::uint32_t max_processes = 4096;
  std::uint32_t ring_mib = 8;
  MessageOptions messages;
  std::string command_line;  // as it was typed, for the files' headers
};

class RecordParser final : public CommandParser {
 public:
  const char* name() const override { return "record"; }
  const char* usage() const override;
  void add_to(CLI::App& app) override;
  Options checked(const CommandTail& tail) const override;
  bool takes_command() const override { return true; }

 private:
  bool given(const char* option) const;
  void check_sampling(RecordOptions& options) const;

  CLI::App* record_ = nullptr;
  MessageOptionsParser messages_;
  // What is typed, before it is checked.
  std::vector<std::string> pids_, outputs_, group_by_, summary_;
  std::string duration_, format_;
  std::string frequency_ = "99", backend_ = "auto", mode_ = "cpu", max_stop_ = "5ms", call_graph_,
              max_processes_ = "4096", ring_mib_ = "8";
  bool no_kernel_ = false, no_children_ = false, overwrite_ = false, json_ = false;
};

}  // namespace labelscope::cli
