// Base64 of RFC 4648, section 4, with padding: how the recording holds bytes that are not text.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

std::string base64_encode(std::string_view bytes);

}  // namespace labelscope::cli
