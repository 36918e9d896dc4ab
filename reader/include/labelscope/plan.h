// From a process to recipes: which modules publish labels, and how each variable is reached.
//
// Planning happens once for a process, and again when its mappings change. Everything that depends
// on a libc, a linker or a processor is decided here. So to apply a recipe takes three reads at
// most (locate.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/plan_trace.h"
#include "labelscope/target.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

enum class AccessModel {
  kLocalExec,       // main executable: a constant of the linker
  kInitialExec,     // offset from the thread pointer in a GOT slot
  kTlsDescStatic,   // TLS descriptor whose argument is that offset
  kTlsDescDynamic,  // TLS descriptor that leads to {module ID, offset}
  kGeneralDynamic,  // {module ID, offset} in two GOT slots
  kLinkMap,         // no usable relocation: what the loader recorded about the module
  kUnresolved,      // not known, or not known yet
};
std::string_view access_model_name(AccessModel model);

// A module that declares labels.
struct Publisher {
  std::string path;  // as the target names it
  Address load_bias = 0;
  ElfSymbol variable;
  AccessModel model = AccessModel::kUnresolved;
  ls_tls_recipe recipe{};         // LS_RECIPE_NOT_RELOCATED or LS_RECIPE_NONE when unresolved
  std::vector<Finding> findings;  // why it is unresolved; deviations from the ABI
};

// A module that looks like a publisher but is none.
struct Refusal {
  std::string path;
  Finding finding;
};

struct ProcessPlan {
  std::vector<Publisher> publishers;  // at most LS_MAX_PUBLISHERS; more are refusals
  std::vector<Refusal> refusals;
  std::size_t modules = 0;  // modules looked at
  bool plan_again = false;  // a module is still being loaded
  // Says in words why there are no publishers; empty if there are some.
  std::string absence() const;
};

// Remembers which files are no publishers: planning again after a dlopen() opens only new files.
// Not thread-safe.
class Planner {
 public:
  // kVanished, kPermission: we cannot look at the process. A module that cannot be read is a
  // refusal. With a trace, the planner looks at every file again, and at symbols that no plan uses
  // (in the .symtab of libraries). The plan is the same.
  Result<ProcessPlan> plan(const Target& target, PlanTrace* trace = nullptr);

 private:
  struct Verdict {
    bool may_publish = true;  // it has one of the symbols, or could not be read
    bool is_runtime = false;  // it belongs to the libc: a recipe may depend on it
  };
  class Round;
  void forget_unmapped(const std::vector<Mapping>& mappings);
  std::map<FileId, Verdict> verdicts_;
};

// True if the name is one that ABI v1 asks of a library.
bool is_abi_library_name(std::string_view path);

}  // namespace labelscope
