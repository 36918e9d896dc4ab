// Labels of a pprof sample: the thread's own, and ours beside them. No key occurs twice.
#pragma once

#include <array>
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
  PprofLabels(const RowLabels& rows, PprofStrings& strings);

  // Returns the encoded fields Sample.label of a row. It is cheap if the label set is the same as
  // in the call before, more so if thread, flags and outcome are, too. The reference holds until
  // the next call.
  const std::string& encode(const SampleRow& row);

 private:
  void encode_user_labels(const SampleRow& row);
  void add_thread(const SampleRow& row);
  void encode_thread(const SampleRow& row);
  void add_own_text(std::string_view key, std::string_view value);
  void add_own_number(std::string_view key, std::int64_t value);
  // Returns the number of `key`, which gets the prefix as often as the sample has such a key
  // already.
  std::int64_t own_key(std::string_view key);
  bool is_used(std::int64_t key) const;
  void append(std::int64_t key, LabelField kind, std::int64_t value, std::string_view unit = {});

  const RowLabels& rows_;
  PprofStrings& strings_;
  std::array<std::int64_t, 4> thread_keys_;  // what encode_thread() adds
  SampleRow last_;
  const Process* process_ = nullptr;  // of the last row
  bool has_last_ = false;
  std::string encoded_;
  std::vector<std::int64_t> used_;  // keys of this sample so far
  // Of the last row: the labels of its label set, encoded, and their keys.
  std::string user_labels_;
  std::vector<std::int64_t> user_keys_;
  bool user_has_thread_key_ = false;  // one of these is among thread_keys_
  // By index of the thread: what it has beside labels, encoded, where no label has such a key.
  std::vector<std::string> threads_;
};

}  // namespace labelscope::cli
