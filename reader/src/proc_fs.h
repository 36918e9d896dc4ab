// Reading whole files of /proc (which have no size beforehand).
#pragma once

#include <string>

#include "labelscope/result.h"

namespace labelscope {

Result<std::string> read_proc_file(const std::string& path);

}  // namespace labelscope
