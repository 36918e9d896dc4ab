// Which of the files of a process is its program.
#pragma once

#include <optional>
#include <vector>

#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// Returns where the program headers of the program are in memory; nothing if that is not known.
//
// The kernel passes that address to the process. But a program may be started by its loader
// ("ld-linux-x86-64.so.2 ./prog"): then the kernel takes the loader for the program, and the
// loader's own list has the program in front. While there is no list yet, it is the loader.
std::optional<Address> main_program_headers(const Target& target,
                                            const std::vector<Mapping>& mappings);

}  // namespace labelscope
