// inspect_file() of a file that is open already, for who has more questions to it.
#pragma once

#include <string_view>

#include "labelscope/inspect.h"

namespace labelscope {

Result<FileInspection> inspect_image(const ElfImage& image, std::string_view name);

}  // namespace labelscope
