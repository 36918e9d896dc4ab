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
  // PresetPlans::add() sets it.
  std::uint32_t number = 0;

  static constexpr ls_tls_recipe located_at_zero() {
    ls_tls_recipe recipe{};
    recipe.kind = LS_AT_ADDRESS;
    return recipe;
  }
};

// The plans of the presets of one process. The plan of the process owns them, and whoever has its
// recipes needs them, too: recipes, programs in the kernel and the values that come from there name
// a plan by a number. That is a digest of the plan's content, never 0. So plans with the same
// program, keys and names have one number, and the processes of a server share it.
class PresetPlans {
 public:
  // Returns the recipe that names the plan.
  ls_tls_recipe add(PresetPlan plan);
  // Adds those of an earlier plan of the process, since values may still come that were read by it;
  // of many the latest.
  void keep(const PresetPlans& earlier);
  // Return null if there is none, or if the recipe names none.
  const PresetPlan* find(std::uint32_t number) const;
  const PresetPlan* find(const ls_tls_recipe& recipe) const;
  // Returns whether one of them reads ThreadState::name.
  bool read_thread_name() const;

 private:
  static constexpr std::size_t kMost = std::size_t{4} * LS_MAX_PUBLISHERS;
  std::vector<std::shared_ptr<const PresetPlan>> plans_;  // the latest first
};
// Returns the number of the plan that a recipe names; 0 if it names none.
std::uint32_t preset_number(const ls_tls_recipe& recipe);
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
