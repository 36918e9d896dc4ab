// Which process a line of a recording is of. Since version 2 it says so by the ID of the process.
// Version 1 had the number alone, so all processes that had one number are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/format/common/read_budget.h"
#include "cli/format/jsonl/jsonl_fields.h"
#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class JsonlProcesses {
 public:
  JsonlProcesses(std::vector<Process>& processes, ReadBudget& budget)
      : processes_(processes), budget_(budget) {}

  void set_version(std::uint64_t version) { has_ids_ = version >= 2; }
  // `id` and `pid` are names of fields.
  Index of(Fields& fields, std::string_view id, std::string_view pid) {
    if (has_ids_) return fields.reference(id, processes_.size());
    const auto number = fields.small<std::int32_t>(pid);
    if (number == 0) return kNoIndex;
    if (by_pid_.empty()) {
      for (std::size_t i = 0; i < processes_.size(); ++i)
        by_pid_.try_emplace(raw(processes_[i].pid), static_cast<Index>(i));
    }
    const auto next = static_cast<Index>(processes_.size());
    const auto [known, is_new] = by_pid_.try_emplace(number, next);
    // The lines of processes come first, and that of this one was damaged.
    if (is_new) {
      budget_.keep(4 * sizeof(Process));
      processes_.push_back({Pid{number}, {}, {}, {}, {}});
    }
    return known->second;
  }

  // The process of this number, if there is only one.
  Index only_one_of(Pid pid) {
    if (only_.empty()) {
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        const auto [known, is_new] = only_.try_emplace(raw(processes_[i].pid), Index(i));
        if (!is_new) known->second = kNoIndex;
      }
    }
    const auto known = only_.find(raw(pid));
    return known == only_.end() ? kNoIndex : known->second;
  }

 private:
  std::vector<Process>& processes_;
  ReadBudget& budget_;
  bool has_ids_ = true;
  std::unordered_map<std::int32_t, Index, SecretHash> by_pid_;
  std::unordered_map<std::int32_t, Index, SecretHash> only_;  // of each number, or kNoIndex
};

}  // namespace labelscope::cli
