// This is the label source of OpenTelemetry's thread context, otel_thread_ctx_v1 (OTEP 4947): a
// pointer to the record of the span that the thread works on (record.h). The process publishes the
// names of its attributes' keys (process_facts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sources/label_source.h"

namespace labelscope {

class OtelContext final : public LabelSource {
 public:
  OtelContext();
  bool is_publisher_name(std::string_view path) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  RawReading take(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  SetCheck check(const ThreadView& thread) const override;
  std::vector<Address> likely_words(const MemorySource& memory, Address variable) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;
};

}  // namespace labelscope
