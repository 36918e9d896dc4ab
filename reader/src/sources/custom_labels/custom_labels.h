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
  Result<Publication> find(const ElfImage& image, bool symtab_too) const override;
  bool is_publisher_name(std::string_view path) const override;
  std::optional<Finding> disqualify(const Publication& publication) const override;
  std::optional<Finding> confirm(const MemorySource& memory, bool alive,
                                 ModuleTrace& seen) const override;
  std::vector<Finding> deviations(const Candidate& candidate) const override;
  std::optional<Finding> find_hidden(const Publication& publication,
                                     Linkage linkage) const override;
  Observation read(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  // BPF programs send keys and values (label_blocks.h).
  LabelSet decode(std::span<const std::byte>, std::uint8_t) const override { return {}; }
};

}  // namespace labelscope
