// These options are shared by several commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/answer/selection.h"
#include "cli/format/format.h"
#include "cli/host/log.h"
#include "cli/host/rights.h"
#include "cli/host/terminal.h"
#include "cli/options/option_list.h"
#include "cli/options/values.h"
#include "cli/profile/idle.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/value_caps.h"

namespace labelscope::cli {

// Every command has these: how much it prints, and in which colours.
struct MessageOptions {
  ColorMode color = ColorMode::kAuto;
  log::Level log_level = log::Level::kNormal;
  bool progress = true;  // show a status line on a terminal

  void declare(OptionList& list);
  void check(const OptionList& list);  // call it after the list has been read
};

inline constexpr Named<IdleMode> kIdleModes[] = {
    {"show", IdleMode::kShow}, {"fold", IdleMode::kFold}, {"drop", IdleMode::kDrop}};

// Record and report have these: which files and tables are made of a profile.
struct OutputOptions {
  std::vector<std::string> outputs;  // "-" is stdout
  std::optional<Format> format;      // of every output; if not set, the extension decides
  bool overwrite = false;
  std::vector<std::string> group_by;
  LabelRules labels;
  ValueCaps caps;  // of the labels that the user has named
  IdleMode idle = IdleMode::kFold;
  std::vector<std::string> summary;
  std::vector<std::string> blame;  // labels by which is shown who made whom wait
  bool json = false;               // print these tables as JSON
  MessageOptions messages;

  // `otherwise` describes what is written if no output is named.
  void declare(OptionList& list, const std::string& otherwise);
  void check() const;  // checks all but the options of messages

 private:
  void check_outputs() const;
  void check_labels() const;
};

// Record and dump have this: where names of functions come from.
struct FunctionNameOptions {
  std::vector<std::string> debug_folders;  // folders of debug files that the user trusts
  bool debug_information = true;           // else names come from symbol tables alone

  // `of_what` stands behind what the options do: ", for --stacks".
  void declare(OptionList& list, const std::string& of_what);
};

// Record and dump have this: the user to become.
void declare_drop_to(OptionList& list, std::optional<User>& user);

// Record, report and diff have this: which samples are shown.
void declare_where(OptionList& list, std::vector<Condition>& conditions);

// Report and diff have these: which samples of recordings are selected.
struct SelectionOptions {
  Selection selection;
  std::string value;  // the wanted value of a pprof file; empty: choose_values() decides

  void declare(OptionList& list);
  void check() const;
};

}  // namespace labelscope::cli
