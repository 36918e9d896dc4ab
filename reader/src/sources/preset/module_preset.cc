#include "sources/preset/module_preset.h"

#include <string>
#include <utility>

namespace labelscope {
namespace {

AccessPlan refused(Finding finding) {
  AccessPlan plan;
  plan.refused = std::move(finding);
  return plan;
}

}  // namespace

Status ModulePresetSource::find(const ElfImage& image, bool, FileInspection& file) const {
  if (preset_.matches(image)) {
    file.own = std::make_shared<const MatchedPreset>(std::string(preset_.name()));
  }
  return {};
}

AccessPlan ModulePresetSource::reach(const Reachable& publisher) const {
  std::variant<PresetPlan, Finding> compiled = preset_.compile(publisher);
  if (auto* finding = std::get_if<Finding>(&compiled)) return refused(std::move(*finding));
  PresetPlan plan = std::get<PresetPlan>(std::move(compiled));
  if (auto problem = refuse_program(plan.program)) {
    return refused({FindingCode::kNoPreset,
                    "the program of preset " + plan.name + " has a mistake: " + *problem,
                    "correct the preset"});
  }
  AccessPlan access;
  access.model = AccessModel::kPreset;
  access.named = "preset " + plan.name;
  access.recipe = access.presets.add(std::move(plan));
  return access;
}

}  // namespace labelscope
