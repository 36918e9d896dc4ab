// Labels that no program publishes, for record and dump: variables that the user names
// (--variable), and properties of the process (--env-label, --env-labels, --process-label).
#pragma once

#include <string>
#include <vector>

#include "cli/options/option_list.h"
#include "cli/process/process_labels.h"
#include "labelscope/plan.h"
#include "labelscope/variable_spec.h"

namespace labelscope::cli {

struct LabelOptions {
  std::vector<VariableSpec> variables;
  ProcessLabelOptions of_process;

  void declare(OptionList& list);
  // The sentence about a variable that no file of a process has, or that cannot be read. As bytes.
  std::string missing_text(const MissingVariable& missing) const;
};

}  // namespace labelscope::cli
