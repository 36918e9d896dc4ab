// Options that record and report share: which files and tables are made of a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/format/format.h"
#include "cli/options/message_options.h"
#include "cli/profile/label_rules.h"

namespace labelscope::cli {

struct OutputOptions {
  std::vector<std::string> outputs;  // "-" is stdout
  std::optional<Format> format;      // of every output; if not set, the extension decides
  bool overwrite = false;
  std::vector<std::string> group_by;
  LabelRules labels;
  std::vector<std::string> summary;
  bool json = false;  // print the summary as JSON
  MessageOptions messages;

  // `otherwise` describes what is written if no output is named.
  void declare(OptionList& list, const std::string& otherwise);
  void check() const;  // checks all but the options of messages
};

}  // namespace labelscope::cli
