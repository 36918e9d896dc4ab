// The programs of tests/targets/servers, which have the symbols of servers and go into states, and
// the shipped presets that are for them; also each preset without one of its checks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/plan.h"
#include "sources/preset/file_preset.h"
#include "support/target_process.h"

namespace labelscope::test {

// What is true in a state, as texts like those that told() makes of labels.
struct ServerState {
  std::string name;
  std::string first;  // of the first thread
  std::string other;  // of the second one
  struct Child {
    Pid pid{};
    std::string first;
  };
  std::optional<Child> child;  // it shares the parent's addresses
};

class PresetServer {
 public:
  // Starts the program of this path, which computes all the time if it `burns`.
  explicit PresetServer(const std::string& program, bool burns = false);

  const std::string& name() const { return name_; }      // "postgres-15"
  const std::string& preset() const { return preset_; }  // empty: none fits
  const std::vector<std::string>& states() const { return states_; }
  Pid pid() const { return target_.pid(); }
  ServerState enter(const std::string& state);
  // Makes its memory that of no server (targets/servers/fill.h).
  const std::vector<std::string>& fills() const { return fills_; }
  void fill(const std::string& kind, unsigned seed);
  // Two owners of its values exist from now on, and the other one is current.
  void flip() { say("flip"); }

 private:
  void say(const std::string& line);

  TargetProcess target_;
  std::string name_;
  std::string preset_;
  std::vector<std::string> states_;
  std::vector<std::string> fills_;
};

// The paths of all programs.
std::vector<std::string> preset_server_programs();
// The path of one of them.
std::string preset_server_program(const std::string& name);

// A preset as its text. `without` is what was left out of a shipped one.
struct PresetText {
  std::string name;
  std::string text;
  std::string without{};

  std::shared_ptr<const FilePreset> parse() const;
};
std::vector<PresetText> shipped_presets();
PresetText shipped_preset(const std::string& name);

// Returns the preset once for each of its checks, without it: a need, an `only`, a condition, an
// `unless`, a transform, a symbol that must not be there, the size of a symbol.
std::vector<PresetText> without_each_check(const PresetText& preset);

// Plans a process for this preset alone.
ProcessPlan plan_with(const std::shared_ptr<const FilePreset>& preset, Pid pid);

// Returns an outcome as the servers say it: "db=shop, user=ada", "unlabelled", "stale".
std::string told(const Observation& seen);

}  // namespace labelscope::test
