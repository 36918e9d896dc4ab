// Planning decides what to do with one module: it finds out of which label sources the module has
// something, and makes a publisher of each, or a refusal.
//
//   module, for each label source --- none of its symbols --> ignored
//     |
//     |  find(), once for a file: symbols (or another sign) are there. The source judges: kind,
//     |  size, what is in memory
//     +------- not a publisher after all -------------------> refusal, with a finding
//     |
//     |  LabelSource::reach(): which TLS recipe (mostly access.cc)
//     v
//   publisher with a recipe; or without one, for a reason: then "plan again" if the library is
//   still being loaded, else its samples are unreadable
//
// Variables that the user has named, and presets, are sources like the others here, each one of its
// own. There is only one difference: one that no module has is reported as missing.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/plan.h"
#include "process/modules.h"
#include "recipe/libc_tls.h"
#include "sources/label_source.h"
#include "sources/preset/module_preset.h"
#include "sources/variable/named_variable.h"

namespace labelscope {

// What one source has found in a file.
struct Sighting {
  std::size_t sought = 0;        // index of the source
  FileInspection file;           // what the source has found
  std::optional<Error> problem;  // why the content of the file is unknown
  bool declares = false;         // true if the file declares labels, rightly or not
};

class Planning {
 public:
  // `program_headers` are those of the program, if they are known. `runtime` lists the libc's
  // files, which is slow. All references must outlive this object.
  Planning(const Target& target, const PlannerOptions& options,
           std::optional<Address> program_headers, PlanTrace* trace,
           std::function<ModuleList()> runtime);

  // Finds what there is in the file of a module with an image. The result is empty if there is
  // nothing to plan. With a trace, it has what each source has seen, even if that is nothing.
  std::vector<Sighting> find(const Module& module) const;
  // Keeps that for look_at(), for all copies of the file, while the module's image is there.
  void keep(const Module& module, std::vector<Sighting> found);

  // Returns the order in which modules must be looked at: those first that must have a place among
  // the publishers.
  std::vector<const Module*> by_claim(const std::vector<Module>& modules) const;
  // Looks for what is in no file: the title that a process has written over its arguments.
  void look_at_process();
  // Returns false if there is nothing of a publisher in the file, in whatever process.
  bool look_at(const Module& module);
  void refuse_unseen(const Module& module, std::size_t most);
  void refuse_files(const std::vector<ModuleProblem>& problems);
  void refuse_process(const ModuleProblem& problem);
  // Call this when all modules were looked at. `there` are the thread-local variables of all files.
  ProcessPlan finish(std::span<const ThreadLocalNames* const> there);

 private:
  struct Sought {
    const LabelSource* source;
    bool found = false;                // true if some module has it
    std::optional<Finding> refused{};  // why it cannot be used, if only the name is there
    const NamedVariable* variable = nullptr;     // the source, if the user has named a variable
    const ModulePresetSource* preset = nullptr;  // or a preset
    std::size_t index = 0;                       // index of that in PlannerOptions
  };

  // Returns false for a module whose image was not kept.
  bool is_main(const Module& module) const {
    return module.image != nullptr && is_main_executable(module, program_headers_);
  }
  const LibcTls& libc(Machine machine);
  bool look_for(Sighting& sighting, const Module& module, ModuleTrace& seen);
  void look_closer(const LabelSource& source, const Module& module, ModuleTrace& seen) const;
  void judge(Sought& sought, const Module& module, ModuleTrace& seen);
  void look_for_title(const NamedVariable& variable, Sought& sought);
  void refuse_source(Sought& sought, ModuleTrace& seen, Finding finding);
  int claim_of(const Module& module) const;
  bool may_hide_publisher(const ModuleProblem& problem) const;
  // A preset that fits any program has one publisher, the program.
  void leave_out_what_gives_way();
  const std::vector<Sighting>* kept(const Module& module) const;
  void publish(Sought& sought, const Module& module, ModuleTrace& seen, AccessPlan access);
  void refuse(ModuleTrace& seen, Finding finding) {
    plan_.refusals.push_back({seen.path, finding});
    seen.refused = std::move(finding);
  }

  const Target& target_;
  PlanTrace* trace_;
  std::function<ModuleList()> runtime_;
  std::optional<Address> program_headers_;
  std::optional<std::string> giving_way_;  // how the publisher of such a preset is named
  std::vector<std::unique_ptr<NamedVariable>> variables_;
  std::vector<std::unique_ptr<ModulePresetSource>> presets_;
  std::vector<Sought> sought_;  // label sources, then variables, then presets
  // The key is the image, and whether it is the main executable, which decides where symbols are
  // looked for.
  std::map<std::pair<const ElfImage*, bool>, std::vector<Sighting>> kept_;
  std::optional<LibcTls> libc_;
  ProcessPlan plan_;
};

}  // namespace labelscope
