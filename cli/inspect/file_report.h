// What `labelscope inspect` found out, and its renderers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_names.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct FileReport {
  std::string path;  // as it was named, or found below a directory
  // What a process that maps it shows as its name, and what the ABI's expression is asked about:
  // the path without symbolic links.
  std::string mapped_path;
  FileInspection inspection;
};

// The processor; of a file for a platform that the ABI does not know, that platform.
inline std::string platform_of(const FileInspection& seen) {
  return seen.foreign_platform.empty() ? std::string(machine_name(seen.machine))
                                       : seen.foreign_platform;
}

struct FileProblem {
  std::string path;
  Error error;
  bool named = false;  // on the command line, not found below a directory
};

struct InspectReport {
  std::vector<FileReport> files;  // those to be shown
  std::vector<FileProblem> problems;
  std::size_t looked_at = 0;   // regular files
  std::size_t elf_files = 0;   // of those, such that a process can run or load here or elsewhere
  std::size_t foreign = 0;     // ELF files of another kind: objects, 32-bit, other processors
  std::size_t publishing = 0;  // verdict readable or compliant
};

// For people: a line for each file, findings below it. Empty if there are no files.
std::string render_table(std::span<const FileReport> files);
// Everything about one.
std::string render_details(const FileReport& file);

// For programs; docs/schema/inspect-json.md has every field. One JSON object, indented, with a
// newline at its end.
std::string render_inspect_json(const InspectReport& report);

}  // namespace labelscope::cli
