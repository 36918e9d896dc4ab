// This makes the program of a preset for one process (preset_program.h): all names are looked up,
// all addresses are absolute, and numbers of the variant are filled in.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "elf/elf_image.h"
#include "labelscope/ids.h"
#include "labelscope/preset_plan.h"
#include "sources/preset/preset_file.h"
#include "sources/preset/preset_match.h"

namespace labelscope {

// Where the file is in the process, and what else the process has.
struct PresetPlace {
  Address load_bias = 0;
  bool is_program = false;       // and no library
  std::optional<Address> title;  // of the process; nothing if that is not known
  bool has_thread_names = true;  // a core file has the name of its first thread alone
};

// Fails with kUnsupported if the file does not fit after all: "thd_query_id() is no accessor: it
// calls another function".
Result<PresetPlan> compile_preset(const PresetDescription& preset, const ChosenVariant& variant,
                                  const ElfImage& image, const PresetPlace& place);

// What a label's transform makes of a value; nothing if that is no label.
std::optional<std::string> transform_value(const DescribedLabel& label, std::string value);
// Returns the same in words of the language: "word 2"; empty if values are labels as they are.
std::string transform_text(const DescribedLabel& label);

}  // namespace labelscope
