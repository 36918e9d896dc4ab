// The parts that all pages have in common: cli/format/page, put together by cli/page_assets.cmake.
#pragma once

#include <string_view>

namespace labelscope::cli {

extern const std::string_view kPageBody;  // the elements that the script fills
extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;
// SHA-256 as hexadecimal digits.
extern const std::string_view kPageScriptHash;
extern const std::string_view kPageStyleHash;

}  // namespace labelscope::cli
