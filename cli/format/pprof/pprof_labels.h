// Labels of a pprof sample: the thread's own, and ours beside them. No key occurs twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class PprofLabels {
 public:
  PprofLabels(const RowLabels& rows, PprofStrings& strings) : rows_(rows), strings_(strings) {}

  // Returns the encoded fields Sample.label of a row. It is cheap if label set, thread, flags and
  // outcome are the same as in the call before. The reference holds until the next call.
  const std::string& encode(const SampleRow& row);

 private:
  void add_own_text(std::string_view key, std::string_view value);
  void add_own_number(std::string_view key, std::int64_t value);
  // Returns the number of `key`, which gets the prefix as often as the sample has such a key
  // already.
  std::int64_t own_key(std::string_view key);
  bool is_used(std::int64_t key) const;
  void append(std::int64_t key, LabelField kind, std::int64_t value, std::string_view unit = {});

  const RowLabels& rows_;
  PprofStrings& strings_;
  SampleRow last_;
  bool has_last_ = false;
  std::string encoded_;
  std::vector<std::int64_t> used_;  // keys of this sample so far
};

}  // namespace labelscope::cli
