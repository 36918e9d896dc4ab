// What JSON has no type for, as every JSON output of labelscope writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"
#include "labelscope/finding.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Base64 of RFC 4648, section 4, with padding: how the recording holds bytes that are not text.
std::string base64_encode(std::string_view bytes);

// Text as a JSON string; bytes that are no UTF-8, or hold a NUL (legal in JSON, but many a reader
// cuts there), as {"base64": "..."}.
nlohmann::ordered_json bytes_json(std::string_view bytes);

// "0x7f12": addresses do not fit into the 53 bits of a JavaScript number.
nlohmann::ordered_json address_json(std::uint64_t address);

// What keeps labels away: "code", "rule" ("LS003", or null), "text", "fix".
nlohmann::ordered_json finding_json(const Finding& finding);

// Where code is: a module, all but its ID, and the source lines of a location.
nlohmann::ordered_json module_fields(const ProfileModule& module);
nlohmann::ordered_json lines_json(const Location& location);

// "not-found", "permission", "malformed", "unsupported", "limit"; "system" for any other.
std::string_view error_name(ErrorCode code);

}  // namespace labelscope::cli
