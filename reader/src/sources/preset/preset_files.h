// Finds and loads presets (preset/preset_file.h): by name in folders that only an administrator may
// write, or by a path.
//
//   /etc/labelscope/presets           what an administrator has written or changed; it comes first
//   PREFIX/share/labelscope/presets   what comes with labelscope: PREFIX is the first folder above
//                                     the program (PREFIX/bin/labelscope) or the library
//                                     (PREFIX/lib/TRIPLET/liblabelscope.so) that has such presets
//
// A preset steers a reader that may have many rights, so its file belongs to root, to the user who
// runs the reader, or to whom the program or library itself belongs, and nobody else may write it.
#pragma once

#include <string>
#include <vector>

#include "labelscope/result.h"
#include "sources/preset/file_preset.h"

namespace labelscope {

inline constexpr const char* kOwnProgram = "/proc/self/exe";

// Loads a preset by name, or a file if a slash is in it. The context of an error is a whole
// sentence about it: "/etc/labelscope/presets/shop.preset, line 3: ...".
Result<PresetDescription> load_preset(const std::string& name,
                                      const std::string& program = kOwnProgram);

struct KnownPresets {
  std::vector<PresetDescription> presets;  // by name
  std::vector<std::string> problems;       // of files that cannot be used, each a clause
};
// Loads all presets of both folders.
KnownPresets load_known_presets(const std::string& program = kOwnProgram);

// Returns "haproxy, mariadb, redis"; empty if there are none.
std::string known_preset_names(const std::string& program = kOwnProgram);

// Whether it may be tried on a program that is not named: one for any program would always fit.
bool fits_by_symbols(const PresetDescription& preset);

}  // namespace labelscope
