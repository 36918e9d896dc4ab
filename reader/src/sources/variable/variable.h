// This is the label source of a thread-local variable that the user has named (variable_spec.h):
// the user makes a module a publisher, and not a symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sources/label_source.h"

namespace labelscope {

// Reads all of them. Which file has one is known by named_variable.h.
class Variable : public LabelSource {
 public:
  Variable() : LabelSource({.number = LS_SOURCE_VARIABLE, .name = "variable"}) {}
  bool is_publisher_name(std::string_view) const override { return false; }
  bool declares(const FileInspection&) const override { return false; }
  void judge(std::string_view, FileInspection&) const override {}
  ReadingStory explain(const ThreadView& thread) const override;
  RawReading take(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;

 protected:
  explicit Variable(const About& one) : LabelSource(one) {}
};

}  // namespace labelscope
