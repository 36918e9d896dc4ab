// The names of people's source code for those of the linker.
#pragma once

#include <string>
#include <string_view>

#include "cli/worker/worker_main.h"

namespace labelscope::cli {

// Demangles C++ (Itanium) and Rust (legacy and v0). Other names stay as they are. Hostile names
// cost bounded time and memory, but the demanglers are code for foreign bytes like libdw: names that
// come from a target's file are demangled by the worker.
std::string demangle(std::string_view mangled);

// The worker's: a name for a name. FileNamer::demangled() asks it.
inline constexpr std::string_view kDemangleTask = "demangle";
Answer make_demangle_task();

}  // namespace labelscope::cli
