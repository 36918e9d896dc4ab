// What samples refer to: texts by number; functions, mappings and locations by IDs that the writer
// chose. A message that cannot be read is counted and left out, and so is a reference that leads to
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/format/common/read_budget.h"
#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class PprofTables {
 public:
  // Modules and locations are added to the profile. All must outlive this object.
  PprofTables(Profile& profile, ReadBudget& budget) : profile_(profile), budget_(budget) {}

  void set_texts(std::vector<std::string_view> texts) { texts_ = std::move(texts); }
  bool has_texts() const { return !texts_.empty(); }
  std::string_view text(std::int64_t number);
  // Each refers to those above it.
  void take_function(std::string_view message);
  void take_mapping(std::string_view message);
  void take_location(std::string_view message);
  // Returns the index of a location, which is kNoIndex for one without a place; nothing if there is
  // none of this ID.
  std::optional<Index> location(std::uint64_t id);

  std::uint64_t damaged() const { return damaged_; }    // number of messages
  std::uint64_t dangling() const { return dangling_; }  // number of references to missing entries

  static constexpr std::size_t kOfEntry = 64;  // bytes of an entry of a table by ID or by text

 private:
  // IDs are any numbers, also those that an attacker chose.
  using ById = std::unordered_map<std::uint64_t, Index, SecretHash>;

  Index find(const ById& table, std::uint64_t wanted);
  bool take_line(std::string_view message, Location& location);

  Profile& profile_;
  ReadBudget& budget_;
  std::vector<std::string_view> texts_;
  ById function_ids_, mapping_ids_, location_ids_;
  std::vector<SourceLine> function_lines_;
  std::uint64_t damaged_ = 0;
  std::uint64_t dangling_ = 0;
};

}  // namespace labelscope::cli
