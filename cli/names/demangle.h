// Turns names of the linker into those of the source code.
#pragma once

#include <string>
#include <string_view>

#include "cli/worker/worker_main.h"

namespace labelscope::cli {

// Demangles C++ (Itanium) and Rust (legacy and v0). Other names stay as they are. Hostile names
// cost bounded time and memory. Still, the demanglers parse foreign bytes, as libdw does: the
// worker demangles names that come from a target's file.
std::string demangle(std::string_view mangled);

// The worker's task: it answers a name with a name. FileNamer::demangled() uses it.
inline constexpr std::string_view kDemangleTask = "demangle";
Answer make_demangle_task();

}  // namespace labelscope::cli
