// Finds and loads presets (preset/preset_file.h): by name in folders that only an administrator may
// write, or by a path.
//
//   /etc/labelscope/presets           what an administrator has written or changed; it comes first
//   PREFIX/share/labelscope/presets   what comes with labelscope, beside the program's own folder
//
// A preset steers a reader that may have many rights, so its file belongs to root, to the user who
// runs labelscope, or to whom the program itself belongs, and nobody else may write it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "labelscope/result.h"
#include "preset/file_preset.h"

namespace labelscope::cli {

// Loads a preset by name, or a file if a slash is in it. The context of an error is a whole
// sentence about it: "/etc/labelscope/presets/shop.preset, line 3: ...".
Result<PresetDescription> load_preset(const std::string& name);

struct KnownPresets {
  std::vector<PresetDescription> presets;  // by name
  std::vector<std::string> problems;       // of files that cannot be used, each a clause
};
// Loads all presets of both folders.
KnownPresets load_known_presets();

// Returns "haproxy, mariadb, redis"; empty if there are none.
std::string known_preset_names();

// Whether it may be tried on a program that is not named: one for any program would always fit.
bool fits_by_symbols(const PresetDescription& preset);

}  // namespace labelscope::cli
