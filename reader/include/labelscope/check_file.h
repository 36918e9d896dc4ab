// The static half of `labelscope check`: what one ELF file breaks, from the file alone, also for
// the other processor.
#pragma once

#include <string_view>
#include <vector>

#include "labelscope/diagnostic.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

struct FileCheck {
  FileInspection inspection;
  // Those that apply to the file and were looked at, by code; whatever is not in `diagnostics` is
  // met. Empty: the file does not publish labels, and does not try to.
  std::vector<RuleId> rules;
  std::vector<Diagnostic> diagnostics;  // by code
};

// Takes the descriptor; `name` is judged and becomes the subject, it is not opened. An ELF file for
// another platform that defines the symbols breaks LS001. Errors as of inspect_file(): what is no
// ELF file, or a damaged one, cannot be checked.
Result<FileCheck> check_file(UniqueFd file, std::string_view name);

}  // namespace labelscope
