// A dump as one JSON object on one line: docs/dump-json.md.
#pragma once

#include <iosfwd>
#include <string_view>

#include "cli/dump/process_dump.h"

namespace labelscope::cli {

Status render_dump_json(const ProcessDump& dump, std::string_view tool_version, std::ostream& out);

}  // namespace labelscope::cli
