// Labels that no program publishes, for record and dump: those of a stock server (--preset),
// variables that the user names (--variable), and properties of the process (--env-label,
// --env-labels, --process-label).
#pragma once

#include <string>
#include <vector>

#include "cli/options/option_list.h"
#include "cli/process/process_labels.h"
#include "cli/profile/learned_names.h"
#include "cli/profile/value_caps.h"
#include "labelscope/plan.h"
#include "labelscope/preset_plan.h"
#include "labelscope/variable_spec.h"

namespace labelscope::cli {

struct LabelOptions {
  std::vector<VariableSpec> variables;
  ModulePresets presets;
  ValueCaps preset_caps;                // how many values a recording keeps of their labels
  std::vector<NameOfNumber> named_ids;  // labels of theirs that are the names of other labels
  bool any_preset = false;  // --preset auto: those that fit are used, and none is missed
  ProcessLabelOptions of_process;

  void declare(OptionList& list);
  // Loads the presets, when all options have been read. Throws as reading does.
  void check();
  // The clause for --preset auto when no preset fits.
  std::string no_preset_text() const;
  // The sentence about a preset that fits no file of a process.
  std::string missing_text(const MissingPreset& missing) const;
  // The sentence about a variable that no file of a process has, or that cannot be read. As bytes.
  std::string missing_text(const MissingVariable& missing) const;

 private:
  std::vector<std::string> preset_names_;
  std::vector<std::string> private_labels_;  // that the user has named
};

}  // namespace labelscope::cli
