// This is the label source of the thread context, context_tls_v1 (customlabels/thread_context.h):
// IDs and tags of a span, 64 bytes in the thread's TLS block itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sources/label_source.h"

namespace labelscope {

class ThreadContext final : public LabelSource {
 public:
  ThreadContext();
  bool is_publisher_name(std::string_view path) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  SetCheck check(const ThreadView& thread) const override;
  std::vector<Address> likely_words(const MemorySource& memory, Address variable) const override;
  RawReading take(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;
};

}  // namespace labelscope
