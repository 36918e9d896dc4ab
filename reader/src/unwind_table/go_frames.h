// This makes rows of an unwind table for code of Go programs, by the depths that Go's own unwinder
// uses (elf/go_functions.h). Its compiler and linker write them for every function, also those in
// assembly.
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"
#include "elf/go_functions.h"
#include "elf/loaded_file.h"
#include "labelscope/result.h"
#include "unwind_table/undescribed_code.h"

namespace labelscope {

// The parts go from functions.start() on, in order; the last part ends at functions.end(). `entry`
// is where the program starts. Fails with kLimit if there would be more than the limits allow.
Result<std::vector<CodePart>> go_frames(const GoFunctions& functions, const LoadedFile& file,
                                        Machine machine, std::uint64_t entry,
                                        const CodeLimits& limits);

}  // namespace labelscope
