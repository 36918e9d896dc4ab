// The thread context, context_tls_v1 (customlabels/thread_context.h): IDs and tags of a span, 64
// bytes in the thread's TLS block itself.
#pragma once

#include "sources/label_source.h"

namespace labelscope {

class ThreadContext final : public LabelSource {
 public:
  ls_source number() const override { return LS_SOURCE_THREAD_CONTEXT; }
  std::string_view name() const override;
  const char* version_symbol() const override { return nullptr; }
  const char* variable_symbol() const override;
  bool is_publisher_name(std::string_view path) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  Observation read(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  LabelSet decode(std::span<const std::byte> raw, std::uint8_t publisher) const override;
};

}  // namespace labelscope
