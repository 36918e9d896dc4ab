// What check tells programs: docs/check-json.md has every field. A baseline is such a file, too.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

inline constexpr const char* kCheckJsonFormat = "labelscope-check";
// Changes when a field gets another meaning or goes away, not when one is added.
inline constexpr int kCheckJsonVersion = 1;

// One JSON object, indented, with a newline at its end. `version` is labelscope's.
std::string render_check_json(const CheckReport& report, const CheckVerdict& verdict,
                              const char* version);

}  // namespace labelscope::cli
