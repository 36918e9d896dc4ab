// The tables that all samples of an OTLP file refer to.
//
// Entry 0 of each is the empty one and means "none". Every entry is there once, and only if
// something refers to it: an entry is made when it is first asked for, and found again by its
// encoded bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class OtlpTable {
 public:
  using Number = std::uint32_t;
  OtlpTable() { number({}); }
  Number number(std::string entry);
  const std::vector<const std::string*>& in_order() const { return in_order_; }

 private:
  std::unordered_map<std::string, Number, SecretHash> numbers_;
  std::vector<const std::string*> in_order_;  // keys of numbers_, which never move
};

class OtlpDictionary {
 public:
  using Number = OtlpTable::Number;

  // Refers to the profile, which must outlive this object.
  explicit OtlpDictionary(const Profile& profile);

  // Bytes that are not UTF-8, which a protobuf string must be, are escaped, and so are controls.
  Number string(std::string_view bytes) { return strings_.number(text(bytes)); }
  Number attribute(std::string_view key, std::string_view value);
  Number attribute(std::string_view key, std::int64_t value);
  // The IDs are bytes: 16 and 8 of them.
  Number link(const std::string& trace_id, const std::string& span_id);
  // Makes a location of the profile, or one that is only a name.
  Number location(Index index);
  Number location(std::string_view name);
  // Takes locations of this dictionary, the leaf first.
  Number stack(const std::vector<Number>& leaf_first);

  std::string encode() const;

  // Returns `bytes` as `string` stores them.
  static std::string text(std::string_view bytes);

 private:
  Number mapping(Index index);
  Number function(std::string_view name, std::string_view system_name, std::string_view file);

  const Profile& profile_;
  OtlpTable mappings_;
  OtlpTable locations_;
  OtlpTable functions_;
  OtlpTable links_;
  OtlpTable strings_;
  OtlpTable attributes_;
  OtlpTable stacks_;
  std::vector<Number> known_locations_;  // by index in the profile; 0: not made yet
};

}  // namespace labelscope::cli
