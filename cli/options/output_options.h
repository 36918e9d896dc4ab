// What becomes of a profile: files and tables. Of record and report.
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
  std::optional<Format> format;      // of every output; otherwise by extension
  bool overwrite = false;
  std::vector<std::string> group_by;
  LabelRules labels;
  std::vector<std::string> summary;
  bool json = false;  // the summary as JSON
  MessageOptions messages;

  // `otherwise`: what is written if no output is named.
  void declare(OptionList& list, const std::string& otherwise);
  void check() const;  // but for messages
};

}  // namespace labelscope::cli
