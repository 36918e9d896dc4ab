// The results of `labelscope inspect`, and their renderers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_names.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Whether a preset fits a file.
struct PresetReport {
  std::string name;
  bool matches = false;  // the file is the preset's server, by its symbols
  std::string variant;
  std::string why_not;
  std::vector<std::string> labels;  // without private ones

  bool fits() const { return matches && why_not.empty(); }
};

struct FileReport {
  std::string path;  // as the user named it, or as it was found below a directory
  // The path without symbolic links: a process that maps the file shows it by this name, and the
  // ABI's expression is matched against it.
  std::string mapped_path;
  FileInspection inspection;
  std::vector<PresetReport> presets{};  // those that are known
};

// Returns the processor. For a file of a platform that the ABI does not know, it is that platform.
inline std::string platform_of(const FileInspection& seen) {
  return seen.foreign_platform.empty() ? std::string(machine_name(seen.machine))
                                       : seen.foreign_platform;
}

struct FileProblem {
  std::string path;
  Error error;
  bool named = false;  // named on the command line, not found below a directory
};

struct InspectReport {
  std::vector<FileReport> files;  // files to be shown
  std::vector<FileProblem> problems;
  std::size_t looked_at = 0;   // number of regular files
  std::size_t elf_files = 0;   // those that a process can run or load, here or elsewhere
  std::size_t foreign = 0;     // ELF files of other kinds: objects, 32-bit, other processors
  std::size_t publishing = 0;  // files with the verdict readable or compliant
};

// Returns the table for people: a line for each file, with findings below it. Empty if there are no
// files.
std::string render_table(std::span<const FileReport> files);
// Everything about one file.
std::string render_details(const FileReport& file);

// Returns the output for programs; docs/schema/inspect-json.md has every field. It is one JSON
// object, indented, with a newline at its end.
std::string render_inspect_json(const InspectReport& report);

}  // namespace labelscope::cli
