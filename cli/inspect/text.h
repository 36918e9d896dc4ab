// What inspect shows people: a line for each file, or everything about it.
#pragma once

#include <span>
#include <string>

#include "cli/inspect/file_report.h"

namespace labelscope::cli {

// A table, findings below their file. Empty if there are no files.
std::string render_table(std::span<const FileReport> files);
std::string render_details(const FileReport& file);

}  // namespace labelscope::cli
