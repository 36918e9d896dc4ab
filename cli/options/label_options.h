// Labels that no program publishes, of record and dump: variables that the user names (--tls), and
// what is known of the process (--env-label, --env-labels, --process-label).
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
  // That no file of a process has one of the variables, or why it cannot be read. Bytes.
  std::string missing_text(const MissingVariable& missing) const;
};

}  // namespace labelscope::cli
