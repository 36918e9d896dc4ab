// What inspect tells programs: docs/inspect-json.md has every field.
#pragma once

#include <string>

#include "cli/inspect/file_report.h"

namespace labelscope::cli {

// One JSON object, indented, with a newline at its end.
std::string render_inspect_json(const InspectReport& report);

}  // namespace labelscope::cli
