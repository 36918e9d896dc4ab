// A preset says how the labels of a server are read that publishes none (preset_program.h). This is
// what becomes of it for one process, and what the planner asks a preset for:
//
//   ModulePreset --matches(file)--> no: this module is another program
//        |
//        | compile(module in this process)
//        v
//   PresetPlan: the program, and what is made of the values that it gives;
//   or a Finding: it looks like the server, but no variant of the preset fits
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/preset_program.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

class ElfImage;    // elf/elf_image.h
struct Reachable;  // sources/label_source.h

// One label of a preset, in the order of their numbers.
struct PresetLabel {
  std::string key;
  // Makes of the value what is shown ("/cart?id=7" -> "/cart"); nothing if that is no label. It is
  // applied when values are decoded, before they are kept. May be empty: the value as it is.
  std::function<std::optional<std::string>(std::string)> transform{};
  std::string transform_text{};  // the same as the preset's file has it: "path"
};

struct PresetPlan {
  std::string name;  // of the preset and its variant: "postgres 14-17"
  ls_preset_program program{};
  std::vector<PresetLabel> labels;  // at most LS_PRESET_LABELS
  // What a step is for, by the step's index, for people: "MyBEEntry", "the entry is not this
  // process's". Steps without words have none.
  std::vector<std::pair<std::size_t, std::string>> words{};
  // Where LS_PRESET_LOCATED begins, if the program uses it: kind, offset, and what belongs to a DTV
  // (recipe/access.h makes it). Without that, address 0.
  ls_tls_recipe base = located_at_zero();
  // Only the first thread of the process has these labels: it reads variables of the process, which
  // say nothing of the other threads. `base` is not used then.
  bool only_main_thread = false;

  static constexpr ls_tls_recipe located_at_zero() {
    ls_tls_recipe recipe{};
    recipe.kind = LS_AT_ADDRESS;
    return recipe;
  }
};

// Recipes, programs in the kernel and the values that come from there name a plan by a number.
// Plans with the same program, keys and names have one number, so that the children of a server
// share that of their parent. A plan is kept for as long as this program runs: recipes in maps of
// the kernel may be used by processes that are not known yet. Only kMostPresets are kept, the
// latest ones. All of this is thread-safe.
inline constexpr std::size_t kMostPresets = 4096;
std::uint32_t keep_preset(PresetPlan plan);
// Returns null if there is none of this number, or it was kept too long ago.
std::shared_ptr<const PresetPlan> find_preset(std::uint32_t number);
// Makes the recipe of a plan, which is kept.
ls_tls_recipe preset_recipe(PresetPlan plan);
// Returns the number of a recipe's plan.
std::uint32_t preset_number(const ls_tls_recipe& recipe);
// Returns whether the recipe is that of a plan that reads ThreadState::name.
bool reads_thread_name(const ls_tls_recipe& recipe);
// Returns what is wrong with a program ("step 3 reads 5 bytes"); nothing if it may run. The walk
// bounds everything once more, but it does not say what was wrong.
std::optional<std::string> refuse_program(const ls_preset_program& program);

// A preset, for a file that may be its server.
class ModulePreset {
 public:
  ModulePreset() = default;
  ModulePreset(const ModulePreset&) = delete;
  ModulePreset& operator=(const ModulePreset&) = delete;
  virtual ~ModulePreset() = default;

  virtual std::string_view name() const = 0;  // "postgres"
  // Returns whether the file has the symbols of the server. It is called for every file of each
  // process, so it must be quick. A file that it refuses is not opened again.
  virtual bool matches(const ElfImage& image) const = 0;
  // Compiles the preset for a module of which the file matches. A Finding is why it cannot be used,
  // with the smallest fix.
  virtual std::variant<PresetPlan, Finding> compile(const Reachable& module) const = 0;
  // Returns whether it is left out of a process in which anything else publishes labels.
  virtual bool gives_way() const { return false; }
  // Returns that no file of a process matches, and what to do.
  virtual Finding missing() const = 0;
};
using ModulePresets = std::vector<std::shared_ptr<const ModulePreset>>;

}  // namespace labelscope
