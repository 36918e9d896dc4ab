// An unwind table on its way from the worker, as the bytes of messages (worker/channel.h).
//
// It goes into maps that the kernel's half searches, and the one who reads it has rights that the
// worker has not. So nothing of it is taken that a table cannot be (unwind_table/unwind_rules.h):
//
//   pages --> how many rows each has, never where they begin: they follow each other
//   rows  --> ascend within a page, from its first byte on, and name rules that are there
//   rules --> of kinds that there are
//
// Which rule holds where may be a lie, as it may be in the file: then stacks of that file are wrong.
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

// In as many messages as it needs.
void send_table(const UnwindTable& table, const std::function<void(std::string)>& send);

class TableReader {
 public:
  explicit TableReader(const UnwindTableLimits& limits = {}) : limits_(limits) {}

  // kMalformed: it is not of a table within the limits.
  Status take(std::string_view body);
  // After the last one. kMalformed: all together are no table.
  Result<UnwindTable> finish();

 private:
  Status take_segment(const std::vector<std::uint64_t>& packed);
  Status take_facts(const std::vector<std::uint64_t>& packed);
  Status check_sizes() const;
  Status check_rows();

  UnwindTableLimits limits_;
  UnwindTable table_;
  bool complete_ = false;
};

}  // namespace labelscope::cli
