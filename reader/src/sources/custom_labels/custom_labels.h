// Labels by Custom Labels ABI v1 (writer-lib/ABI.md): a thread-local pointer to a label set.
#pragma once

#include "sources/label_source.h"

namespace labelscope {

class CustomLabels final : public LabelSource {
 public:
  ls_source number() const override { return LS_SOURCE_CUSTOM_LABELS; }
  std::string_view name() const override { return "ABI v1"; }
  const char* version_symbol() const override;
  const char* variable_symbol() const override;
  bool is_publisher_name(std::string_view path) const override;
  Status find_more(const ElfImage& image, FileInspection& file) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  Observation read(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
};

// The addon of Polar Signals for node exports it in all of its versions.
inline constexpr const char* kNodeLabelsSymbol = "custom_labels_als_identity_hash";

// True if the name is one that ABI v1 asks of a library.
bool is_abi_library_name(std::string_view path);

// For a file that declares labels and is for another platform than ABI v1 knows: the one rule that
// counts.
void judge_foreign(FileInspection& file);

}  // namespace labelscope
