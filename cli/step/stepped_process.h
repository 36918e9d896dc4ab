// One address space whose threads are stepped: its code, its breakpoints, its triggers, its plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/step/breakpoints.h"
#include "cli/step/code_map.h"
#include "cli/step/instruction.h"
#include "cli/step/suspects.h"
#include "cli/step/triggers.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"

namespace labelscope::cli {

class SteppedProcess {
 public:
  // Called when the loaded files, or the plan, may have changed. The process is stopped then.
  using OnLoaded = std::function<void(const SteppedProcess&)>;
  // A process that has just executed its program, and is stopped.
  static Result<std::unique_ptr<SteppedProcess>> open(Pid pid, const DeclaredUpdates& declared,
                                                      FileNamer& namer, OnLoaded on_loaded);

  Pid pid() const { return pid_; }
  const MemorySource& memory() const { return process_->memory(); }
  const ProcessPlan& plan() const { return plan_; }
  CodeMap& code() { return code_; }
  Breakpoints& breakpoints() { return breakpoints_; }
  Triggers& triggers() { return triggers_; }
  Suspects& suspects() { return suspects_; }
  const Disassembler& disassembler() const { return disassembler_; }

  // Call it when the loader has changed the mappings.
  void look_again() { look(false); }
  // How often it has looked for changed mappings.
  std::uint64_t looks() const { return looks_; }
  // Declared updates that no file of the process has, as the user named them.
  std::set<std::string> missing_updates() const { return triggers_.missing(); }
  std::uint64_t max_update_steps() const { return max_update_steps_; }
  // Whether there is a trigger at which stepping can begin.
  bool has_triggers() const { return triggers_.any_writer(); }
  const LiveProcess& process() const { return *process_; }
  // The facts that it publishes about itself now; null: none. nullopt: it is in the middle of
  // publishing them.
  std::optional<const ProcessFacts*> facts();
  // At the end of the process: the facts that it was publishing, but has not published. Null: there
  // are none.
  const ProcessFacts* unpublished();
  // Plans again, if the plan is not final yet (slots not relocated) and it is time.
  void plan_if_due();
  // Call it at the program's first instruction: everything that is loaded at start is there.
  void begin_program();
  // Before that, the loader may still move a thread's variables.
  bool has_begun() const { return begun_; }

  // An instruction, and the role of its code.
  struct CodeSite {
    Instruction instruction;
    CodeRole role = CodeRole::kRuntime;
    bool allocates = false;  // in malloc, free and similar functions of any file
    bool loader = false;     // in the dynamic loader
  };
  const CodeSite& site_at(Address address);
  // Returns "mov qword ptr [rax + 8], rdx"; empty if nothing is known.
  std::string instruction_text(Address address) const;

 private:
  SteppedProcess(Pid pid, std::unique_ptr<LiveProcess> process, Breakpoints breakpoints,
                 const DeclaredUpdates& declared, FileNamer& namer, OnLoaded on_loaded);
  void look(bool all_code);
  void watch_loader();
  void make_plan();

  Pid pid_;
  std::unique_ptr<LiveProcess> process_;
  Breakpoints breakpoints_;
  CodeMap code_;
  Triggers triggers_;
  Suspects suspects_;
  std::uint64_t max_update_steps_;
  OnLoaded on_loaded_;
  Disassembler disassembler_;
  Planner planner_;
  ProcessPlan plan_;
  bool begun_ = false;
  std::uint64_t looks_ = 0;
  std::unordered_map<Address, CodeSite> sites_;
};

}  // namespace labelscope::cli
