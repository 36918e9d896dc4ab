// This is how all JSON outputs of labelscope write what JSON has no type for, and the objects that
// several of them share.
#pragma once

#include <cstddef>
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

// This type keeps the order of the fields.
using Json = nlohmann::ordered_json;

// How much a parser would make of a text. It takes up to a hundred bytes of memory for a value of
// two bytes, a level of nesting is a list of its own, and an object whose fields keep their order
// looks at all of them for each new one. So a text from anywhere is looked at before it is parsed.
struct JsonShape {
  std::size_t values = 0;  // also lists and objects
  std::size_t depth = 0;   // lists and objects within each other
  std::size_t fields = 0;  // of the object with most of them; levels below the 64th do not count
};
JsonShape json_shape(std::string_view text);

// Base64 of RFC 4648, section 4, with padding. Recordings write bytes that are not text in this
// form.
std::string base64_encode(std::string_view bytes);
// nullopt if the text is no base64.
std::optional<std::string> base64_decode(std::string_view text);

// Returns the value as text, in one line or with an indentation. It has no byte outside of ASCII: a
// terminal would obey some of the characters that JSON allows (C1 controls, changes of direction),
// and a reader of JSON sees the same text either way.
std::string json_text(const Json& value, int indentation = -1);

// Text as a JSON string. Bytes that are not UTF-8 or hold a NUL (legal in JSON, but many readers
// cut there) become {"base64": "..."}.
Json bytes_json(std::string_view bytes);

// Writes "0x7f12": addresses do not fit into the 53 bits of a JavaScript number.
Json address_json(std::uint64_t address);

// Writes null for kNoIndex.
Json index_json(Index index);

template <class List, class Convert>
Json array_json(const List& list, Convert convert) {
  Json array = Json::array();
  for (const auto& each : list) array.push_back(convert(each));
  return array;
}

// Returns a count for each outcome, by its name.
template <class Counts>
Json outcomes_json(const Counts& counts) {
  Json json = Json::object();
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i)
    json[std::string(labelscope::outcome_name(i))] = counts[i];
  return json;
}

// Returns the names of the flags that are set.
Json flags_json(unsigned flags);

Json label_json(const Label& label);
// Returns the facts that a process has published about itself.
Json attributes_json(const Attributes& attributes);

// Returns a finding: "code", "rule" ("LS003", or null), "text", "fix".
Json finding_json(const Finding& finding);

// Returns a place in code: all fields of a module but its ID, and the source lines of a location.
Json module_fields(const ProfileModule& module);
Json lines_json(const Location& location);

// Returns "not-found", "permission", "malformed", "unsupported", "limit"; "system" for any other.
std::string_view error_name(ErrorCode code);

}  // namespace labelscope::cli
