// A thread-local variable that the user has named (variable_spec.h): no symbol makes a publisher of
// a module, but the user.
#pragma once

#include "sources/label_source.h"

namespace labelscope {

class Variable final : public LabelSource {
 public:
  Variable() : LabelSource({LS_SOURCE_VARIABLE, "variable", nullptr, nullptr, {}}) {}
  bool is_publisher_name(std::string_view) const override { return false; }
  void judge(std::string_view, FileInspection&) const override {}
  ReadingStory explain(const ThreadView& thread) const override;
  RawReading take(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const ProcessFacts* facts) const override;
};

}  // namespace labelscope
