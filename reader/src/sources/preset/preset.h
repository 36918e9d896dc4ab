// This is the label source of presets: what their programs (labelscope/preset_program.h) find in a
// thread. The planner makes a module a publisher (plan/planning.h), because a preset of the user's
// fits it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/preset_plan.h"
#include "sources/label_source.h"

namespace labelscope {

// What is known of a file that a preset matches.
struct MatchedPreset final : SourceInspection {
  explicit MatchedPreset(std::string its_name) : name(std::move(its_name)) {}
  std::string name;  // of the preset
};

// Returns the plan that the recipe of a thread names; null if it is not known.
const PresetPlan* plan_of(const ThreadView& thread);

// Reads all of them.
class Preset : public LabelSource {
 public:
  Preset()
      : LabelSource({.number = LS_SOURCE_PRESET, .name = "preset"}) {}
  bool is_publisher_name(std::string_view) const override { return false; }
  bool declares(const FileInspection& file) const override { return file.own != nullptr; }
  void judge(std::string_view, FileInspection&) const override {}
  std::vector<SourceDetail> details(const FileInspection& file) const override;
  // Reads until two readings in a row are equal. Of a process that runs, each read has another
  // moment: between a check and the value that it is for, the value may become another's. If both
  // are the same once more, the check has held after the value was read, too.
  RawReading take(const ThreadView& thread) const override;
  Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                     const Meanings& by) const override;
  ReadingStory explain(const ThreadView& thread) const override;

 protected:
  explicit Preset(const About& one) : LabelSource(one) {}
};

}  // namespace labelscope
