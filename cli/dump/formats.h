// Renders a dump as text or JSON. Each format has a file of its name.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string_view>

#include "cli/dump/process_dump.h"

namespace labelscope::cli {

// A dump for people: a line for each thread, and below it its stack and how its labels were found,
// if they were asked for. Everything that comes from the target is escaped.
struct DumpStyle {
  bool color = false;
  std::size_t width = 0;  // labels that do not fit go to a line of their own; 0: never
};

Status render_dump_text(const ProcessDump& dump, const DumpStyle& style, std::ostream& out);

// Returns a dump as one JSON object on one line: docs/schema/dump-json.md.
Status render_dump_json(const ProcessDump& dump, std::string_view tool_version, std::ostream& out);

}  // namespace labelscope::cli
