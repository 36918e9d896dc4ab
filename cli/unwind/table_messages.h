// An unwind table on its way from the worker, as the bytes of messages (worker/channel.h).
//
// It goes into maps that the BPF programs search, and its reader has rights that the
// worker has not. So anything that no table can contain is refused (unwind_table/unwind_rules.h):
//
//   pages --> have a number of rows, and no start: they follow each other
//   rows  --> ascend within a page, from its first byte on, and refer to rules that exist
//   rules --> have one of the known kinds
//
// A rule may still be wrong for its place, as it may be in the file: then stacks of that file are
// wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope::cli {

inline constexpr std::string_view kTableTask = "unwind-table";

// Sends the table in as many messages as it needs.
void send_table(const UnwindTable& table, const std::function<void(std::string)>& send);

class TableReader {
 public:
  explicit TableReader(const UnwindTableLimits& limits = {}) : limits_(limits) {}

  // Fails with kMalformed if it is no part of a table within the limits.
  Status take(std::string_view body);
  // Call it after the last message. Fails with kMalformed if all together are no table.
  Result<UnwindTable> finish();

 private:
  Status take_segment(const std::vector<std::uint64_t>& packed);
  Status take_counts(const std::vector<std::uint64_t>& packed);
  Status check_sizes() const;
  Status check_rows();

  UnwindTableLimits limits_;
  UnwindTable table_;
  bool complete_ = false;
};

}  // namespace labelscope::cli
