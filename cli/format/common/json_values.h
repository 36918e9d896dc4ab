// How every JSON output of labelscope says what JSON has no type for, and what several of them say.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"
#include "labelscope/finding.h"
#include "labelscope/process_facts.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Keeps the order of the fields.
using Json = nlohmann::ordered_json;

// Base64 of RFC 4648, section 4, with padding: how the recording holds bytes that are not text.
std::string base64_encode(std::string_view bytes);
// Nothing for what is not of that form.
std::optional<std::string> base64_decode(std::string_view text);

// Text as a JSON string; bytes that are no UTF-8, or hold a NUL (legal in JSON, but many a reader
// cuts there), as {"base64": "..."}.
Json bytes_json(std::string_view bytes);

// "0x7f12": addresses do not fit into the 53 bits of a JavaScript number.
Json address_json(std::uint64_t address);

// null for kNoIndex.
Json index_json(Index index);

template <class List, class Convert>
Json array_json(const List& list, Convert convert) {
  Json array = Json::array();
  for (const auto& each : list) array.push_back(convert(each));
  return array;
}

// A count for each outcome, by its name.
template <class Counts>
Json outcomes_json(const Counts& counts) {
  Json json = Json::object();
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i)
    json[std::string(labelscope::outcome_name(i))] = counts[i];
  return json;
}

// The names of the flags that are set.
Json flags_json(unsigned flags);

Json label_json(const Label& label);
// What a process has published of itself.
Json attributes_json(const Attributes& attributes);

// What keeps labels away: "code", "rule" ("LS003", or null), "text", "fix".
Json finding_json(const Finding& finding);

// Where code is: a module, all but its ID, and the source lines of a location.
Json module_fields(const ProfileModule& module);
Json lines_json(const Location& location);

// "not-found", "permission", "malformed", "unsupported", "limit"; "system" for any other.
std::string_view error_name(ErrorCode code);

}  // namespace labelscope::cli
