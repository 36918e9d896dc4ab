#include "sources/preset/file_preset.h"

#include <utility>

#include "labelscope/target.h"
#include "sources/preset/preset_compile.h"
#include "sources/preset/preset_match.h"
#include "process/modules.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

constexpr const char* kWriteVariant =
    "add a variant for this version to a copy of the preset in /etc/labelscope/presets "
    "(docs/presets.md)";

}  // namespace

bool FilePreset::matches(const ElfImage& image) const { return !why_no_match(preset_, image); }

std::variant<PresetPlan, Finding> FilePreset::compile(const Reachable& module) const {
  const ElfImage& image = *module.module.image;
  const auto variant = choose_variant(preset_, image);
  if (!variant) return Finding{FindingCode::kNoPreset, variant.error().context, kWriteVariant};
  PresetPlace place{module.module.load_bias, module.file.executable, {}, module.target.is_alive()};
  if (const auto title = module.target.title_address()) place.title = *title;
  auto plan = compile_preset(preset_, *variant, image, place);
  if (plan) return *std::move(plan);
  return Finding{FindingCode::kNoPreset, "the preset " + preset_.name + ": " + plan.error().context,
                 kWriteVariant};
}

Finding FilePreset::missing() const {
  std::string symbols;
  for (const auto& group : preset_.match) {
    symbols += symbols.empty() ? "" : ", ";
    for (const std::string& name : group) symbols += (&name == &group.front() ? "" : " or ") + name;
  }
  return {FindingCode::kNoPreset,
          "no file of the process is the server of the preset " + preset_.name +
              (symbols.empty() ? "" : ", which has the symbols " + symbols),
          "labelscope inspect FILE says which presets a file fits"};
}

PresetFit fit_preset(const PresetDescription& preset, const ElfImage& image) {
  if (auto why = why_no_match(preset, image)) return {false, {}, *std::move(why)};
  const auto variant = choose_variant(preset, image);
  if (!variant) return {true, {}, variant.error().context};
  PresetFit fit{true, variant->name, {}};
  // Addresses are those of no process: only whether it can be compiled is of interest.
  const auto plan = compile_preset(preset, *variant, image, {0, image.executable(), Address{1}});
  if (!plan) fit.why_not = plan.error().context;
  return fit;
}

}  // namespace labelscope
