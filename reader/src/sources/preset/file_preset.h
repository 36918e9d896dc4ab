// FilePreset is a preset as the planner takes it (labelscope/preset_plan.h): it matches modules,
// and is compiled for those that fit.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "labelscope/preset_plan.h"
#include "sources/preset/preset_file.h"

namespace labelscope {

class FilePreset final : public ModulePreset {
 public:
  explicit FilePreset(PresetDescription preset, bool gives_way = false)
      : preset_(std::move(preset)), gives_way_(gives_way) {}

  const PresetDescription& preset() const { return preset_; }

  std::string_view name() const override { return preset_.name; }
  bool matches(const ElfImage& image) const override;
  std::variant<PresetPlan, Finding> compile(const Reachable& module) const override;
  Finding missing() const override;
  bool gives_way() const override { return gives_way_; }

 private:
  PresetDescription preset_;
  bool gives_way_;
};

// What is known of a file and a preset without a process, for people.
struct PresetFit {
  bool matches = false;  // the file has the symbols of the server
  std::string variant;   // that fits, or empty
  std::string why_not;   // why the preset cannot be used, or which symbols the file lacks

  bool fits() const { return matches && why_not.empty(); }
};
PresetFit fit_preset(const PresetDescription& preset, const ElfImage& image);

}  // namespace labelscope
