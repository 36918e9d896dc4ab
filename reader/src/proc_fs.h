// Reading whole files of /proc (which have no size beforehand).
#pragma once

#include <string>
#include <string_view>

#include "labelscope/result.h"

namespace labelscope {

Result<std::string> read_proc_file(const std::string& path);

// The value of one line of /proc/PID/status; empty if there is no such line.
std::string_view status_field(std::string_view status, std::string_view name);

}  // namespace labelscope
