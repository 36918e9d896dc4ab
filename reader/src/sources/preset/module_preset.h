// ModulePresetSource is a preset of the user's as a label source for one run of planning: a module
// whose file the preset matches becomes a publisher, with the program that the preset makes of it.
#pragma once

#include <cstddef>
#include <memory>

#include "sources/preset/preset.h"

namespace labelscope {

class ModulePresetSource final : public Preset {
 public:
  // `preset` must outlive this object.
  explicit ModulePresetSource(const ModulePreset& preset)
      : Preset({.number = LS_SOURCE_PRESET, .name = preset.name()}), preset_(preset) {}

  Status find(const ElfImage& image, bool everything, FileInspection& file) const override;
  // A preset that matches and cannot be compiled gives a plan with a reason.
  AccessPlan reach(const Reachable& publisher) const override;
  const ModulePreset& preset() const { return preset_; }

 private:
  const ModulePreset& preset_;
};

}  // namespace labelscope
