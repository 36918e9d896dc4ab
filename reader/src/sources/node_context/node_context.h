// This is the label source of OpenTelemetry's thread context of node, otel_thread_ctx_nodejs_v1
// (design document 01861 of the eBPF profiler; not merged in September 2026): the record of OTEP
// 4947 (otel_context/record.h), found through objects of JavaScript. The writer is the addon of
// npm's @datadog/pprof, from version 5.16 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sources/label_source.h"

namespace labelscope {

class NodeContext final : public LabelSource {
 public:
  NodeContext();
  bool is_publisher_name(std::string_view path) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  void adapt(const ProcessFacts* facts, ls_tls_recipe& recipe) const override;
  RawReading take(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;
};

}  // namespace labelscope
