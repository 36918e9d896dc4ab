// The static half of `labelscope check`: which rules one ELF file breaks, as far as the file alone
// tells. The file may be for another processor than ours.
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
  // The rules that apply to the file and were checked, sorted by code. The file meets those that
  // are not in `diagnostics`. Empty: the file does not publish labels, and does not try to.
  std::vector<RuleId> rules;
  std::vector<Diagnostic> diagnostics;  // by code
};

// Takes over the descriptor. `name` is judged and becomes the subject, but is not opened. An ELF
// file for another platform that defines the symbols breaks LS001. Errors as of inspect_file(): a
// file that is not ELF, or is damaged, cannot be checked.
Result<FileCheck> check_file(UniqueFd file, std::string_view name);

}  // namespace labelscope
