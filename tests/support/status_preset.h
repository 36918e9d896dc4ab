// A preset for tests/targets/sources/status_server.c, written as a program by hand, and what its
// labels may be.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "labelscope/label.h"
#include "labelscope/preset_plan.h"
#include "support/target_process.h"

namespace labelscope::test {

// The checks that the preset makes; a test leaves one out to see what it is for.
enum StatusCheck : unsigned {
  kPidCheck = 1,      // the entry is this process's
  kChangesCheck = 2,  // it is not being written
  kStateCheck = 4,    // a query runs
  kAllChecks = 7
};

class StatusPreset final : public ModulePreset {
 public:
  explicit StatusPreset(unsigned checks = kAllChecks) : checks_(checks) {}
  std::string_view name() const override { return "status"; }
  bool matches(const ElfImage& image) const override;
  std::variant<PresetPlan, Finding> compile(const Reachable& module) const override;
  Finding missing() const override;

 private:
  unsigned checks_;
};

ModulePresets status_presets(unsigned checks = kAllChecks);

// Starts the server, which waits for start_sessions().
TargetProcess start_status_server(const std::string& program, int sessions);
void start_sessions(TargetProcess& server);

// What a session has printed.
struct StatusSession {
  int number = 0;
  double starting_ns = 0;
  double writing_ns = 0;
  double running_ns = 0;
  double idle_ns = 0;
};
// Returns at once whether all sessions have ended. It is asked until it is so, and not again.
bool have_ended(TargetProcess& server);
// Returns the sessions that have ended, by their processes.
std::map<Pid, StatusSession> sessions_of(const TargetProcess& server);
// Waits for the end of all sessions, and returns them.
std::map<Pid, StatusSession> finish_sessions(TargetProcess& server);

// Returns whether these labels are a session's, and not another's.
bool are_of_session(const LabelSet& labels, const StatusSession& session);
bool has_query(const LabelSet& labels);

}  // namespace labelscope::test
