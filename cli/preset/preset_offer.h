// What labelscope says of a program without labels: that a preset fits, and what it reads there
// now.
#pragma once

#include <span>
#include <string>

#include "labelscope/ids.h"

namespace labelscope::cli {

// Returns "--preset redis fits (redis 7.0.6-15), and says now: command=sort user=acme", or empty if
// no preset fits one of these processes. It reads them without stopping them, and says nothing of
// what it may not read.
std::string offer_presets(std::span<const Pid> pids);

}  // namespace labelscope::cli
