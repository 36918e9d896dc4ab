// The error of bytes that are not what they should be.
#pragma once

#include <string>
#include <utility>

#include "labelscope/result.h"

namespace labelscope {

inline Error malformed(std::string what) { return {ErrorCode::kMalformed, std::move(what)}; }

}  // namespace labelscope
