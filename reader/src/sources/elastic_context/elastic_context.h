// This is the label source of Elastic APM's correlation, elastic_apm_profiling_correlation_tls_v1
// (elastic/apm, specs/agents/universal-profiling-integration.md): a thread-local pointer to 37
// packed bytes.
//
//   offset  0   minor version, 2
//           2   valid: 0 while the thread changes what is behind it
//           3   1: there is a trace; else nothing behind it counts
//           4   trace flags
//           5   trace ID, 16 bytes | 21   span ID, 8 | 29   transaction ID (the local root span), 8
//
// An agent may publish nothing until a profiler has written to its socket, which labelscope does
// not do: it changes nothing in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sources/label_source.h"

namespace labelscope {

class ElasticContext final : public LabelSource {
 public:
  ElasticContext();
  bool is_publisher_name(std::string_view path) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  RawReading take(const ThreadView& thread) const override;
  ReadingStory explain(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;
};

}  // namespace labelscope
