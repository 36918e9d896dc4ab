// Planning goes from a process to recipes: which modules publish labels, and how each variable is
// reached.
//
// Planning happens once for a process, and again when its mappings change. Everything that depends
// on a libc, a linker or a processor is decided here. So applying a recipe takes three reads at
// most (recipe/locate.cc).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/inspect.h"
#include "labelscope/observe.h"
#include "labelscope/plan_trace.h"
#include "labelscope/preset_plan.h"
#include "labelscope/process_facts.h"
#include "labelscope/target.h"
#include "labelscope/tls_recipe.h"
#include "labelscope/variable_spec.h"

namespace labelscope {

// A module that declares labels.
struct Publisher {
  std::string path;  // the target's name for it
  Address load_bias = 0;
  ElfSymbol variable;  // recipe.source is what it holds; it is empty for a source without symbols
  AccessModel model = AccessModel::kUnresolved;
  ls_tls_recipe recipe{};         // LS_RECIPE_NOT_RELOCATED or LS_RECIPE_NONE when unresolved
  std::vector<Finding> findings;  // why it is unresolved; deviations from the ABI
  // A variable that the user has named, "request_id:u64", or a preset that fits: "preset redis 7.0"
  std::string named{};
};
// Returns what distinguishes it from other publishers: its path, and the variable that the user has
// named.
std::string publisher_title(const Publisher& publisher);
// Returns the name of its variable: "custom_labels_current_set", or the variable that the user has
// named.
std::string variable_name(const Publisher& publisher);

// A module that looks like a publisher but is none.
struct Refusal {
  std::string path;
  Finding finding;
};

// A variable that the user has named and no module has, and what there is in its place.
struct MissingVariable {
  std::size_t index = 0;  // index in PlannerOptions::variables
  Finding finding;
};

// A preset of the user's that fits no module, or no version that it knows.
struct MissingPreset {
  std::size_t index = 0;  // index in PlannerOptions::presets
  Finding finding;
};

struct ProcessPlan {
  std::vector<Publisher> publishers;  // at most LS_MAX_PUBLISHERS; more are refusals
  std::vector<Refusal> refusals;
  std::size_t modules = 0;  // modules that were looked at
  bool plan_again = false;  // true if a module is still being loaded
  // Whether a file could not be opened, which is a refusal then. It may publish labels, so a thread
  // without other labels is unreadable (LS_RECIPE_NONE), not unlabelled.
  bool hides_publisher = false;
  std::string sources;      // the sources that were looked for: "ABI v1, context_tls_v1"
  // What the process publishes once for all its threads, and keys of variables; null if there is
  // neither.
  std::shared_ptr<const ProcessFacts> facts;
  PresetPlans presets;  // those that recipes of publishers name
  std::vector<MissingVariable> missing;
  std::vector<MissingPreset> missing_presets;
  // Whether a preset of PlannerOptions::noticed is for one of its libraries, by symbols. Its
  // program is not looked at: to search all symbols of a large one takes long.
  bool notices_preset = false;
  // Returns the publishers' recipes, as observe() takes them, and one without a way where a
  // publisher is hidden.
  std::vector<ls_tls_recipe> recipes() const;
  // Returns what bytes mean that were read by these recipes. It points into this plan.
  Meanings meanings() const { return {facts.get(), &presets}; }
  // Returns whether the labels of some publisher need what the process publishes about itself.
  bool needs_facts() const;
  // Returns in words why there are no publishers; nothing if there are some.
  std::string absence() const;
};

struct PlannerOptions {
  std::vector<ls_source> only{};          // if empty, publishers of all label sources
  std::vector<VariableSpec> variables{};  // and these variables, in any module
  ModulePresets presets{};                // and what these presets read, of modules that they fit
  ModulePresets noticed{};                // these are not read: see ProcessPlan::notices_preset
};

struct FileVerdict;
class FileVerdicts;

// Remembers which files are no publishers: planning again after a dlopen() opens only new files.
// Each process has a planner of its own; a forked child has a copy of its parent's. Planners that
// share what they know are not thread-safe, not even one by one.
class Planner {
 public:
  explicit Planner(PlannerOptions options = {});
  // Returns a planner with the same options that shares what it knows of files: a file that many
  // processes have loaded, such as the C library, is looked at once.
  Planner for_another_process() const;
  // Fails with kVanished or kPermission if labelscope cannot look at the process. A module that
  // cannot be read is a refusal. With a trace, the planner looks at every file again, and at
  // symbols that no plan uses (in the .symtab of libraries). The plan is the same.
  Result<ProcessPlan> plan(const Target& target, PlanTrace* trace = nullptr);

 private:
  class FileSearch;
  void forget_unmapped(const std::vector<Mapping>& mappings);
  PlannerOptions options_;
  std::map<FileId, std::shared_ptr<FileVerdict>> verdicts_;  // verdicts on files that are mapped
  std::shared_ptr<FileVerdicts> shared_;
};

// Returns true if a file of this name may be meant as a publisher, such as a name that ABI v1
// requires of a library.
bool is_publisher_name(std::string_view path);
// Returns whether messages need not name its label source: without a name they mean ABI v1.
bool goes_without_saying(const Publisher& publisher);
// Returns how its variable is reached: "TLSDESC (static)"; for another source than ABI v1 with the
// variable: "context_tls_v1, TLSDESC (static)".
std::string access_text(const Publisher& publisher);

}  // namespace labelscope
