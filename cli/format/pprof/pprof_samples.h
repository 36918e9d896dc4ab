// Turns labels of pprof samples back into labels, threads, outcomes and flags.
// docs/schema/recording-format.md, "Labels in pprof", has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// A label of a sample with its texts looked up. `text` is what pprof shows, also for a number.
struct PprofLabel {
  std::string_view key;
  std::string text;
  bool is_number = false;
  std::int64_t number = 0;
};

class PprofSampleLabels {
 public:
  explicit PprofSampleLabels(Profile& profile) : profile_(profile) {}

  // Sets the row's thread, label set, outcome and flags. Returns false if it has more labels than a
  // process can set.
  bool set(std::vector<PprofLabel> labels, SampleRow& row);

 private:
  Index thread_of(std::vector<PprofLabel>& labels);
  Index index_of(LabelSet set);

  Profile& profile_;
  std::map<std::tuple<Index, std::int32_t, std::string>, Index> threads_;
  std::map<std::int32_t, Index> processes_;  // by number
  std::unordered_map<std::string, Index, SecretHash> sets_;
};

}  // namespace labelscope::cli
