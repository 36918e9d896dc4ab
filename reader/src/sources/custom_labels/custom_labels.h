// This is the label source of Custom Labels ABI v1 (writer-lib/ABI.md): a thread-local pointer to a
// label set.
#pragma once

#include <string_view>
#include <vector>

#include "sources/label_source.h"

namespace labelscope {

class CustomLabels final : public LabelSource {
 public:
  CustomLabels();
  bool is_publisher_name(std::string_view path) const override;
  Status find(const ElfImage& image, bool everything, FileInspection& file) const override;
  bool declares(const FileInspection& file) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  RuleId loading_rule(std::string_view path) const override;
  Observation read(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  SetCheck check(const ThreadView& thread) const override;
  std::vector<Address> likely_words(const MemorySource& memory, Address variable) const override;
};

// Facts of a file that also keeps labels of asynchronous work elsewhere, in node's
// AsyncLocalStorage.
struct AsyncLabels final : SourceInspection {};

// All versions of the addon of Polar Signals for node export this symbol.
inline constexpr const char* kNodeLabelsSymbol = "custom_labels_als_identity_hash";

}  // namespace labelscope
