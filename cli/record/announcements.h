// What a command prints while its session samples: what is recorded, who publishes labels, and what
// of the wanted labels no process has.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cli/host/terminal.h"
#include "cli/record/session.h"
#include "labelscope/preset_plan.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class Announcements {
 public:
  // `session` must outlive it.
  explicit Announcements(const Session& session) : session_(session) {}

  // Chooses presets that the user may not know of, when the targets are found.
  void choose_noticed();
  const ModulePresets& noticed() const { return offered_; }
  // These belong to the events of a SessionListener. planned() fails if no process has a label that
  // the user has named, since a recording without the label that it is made for is of no use.
  Status planned() const;
  void started();
  // Removes the status line before it prints something.
  void turned(Progress& progress);
  void stopped();

 private:
  void announce_publishers(Progress* progress);
  void offer_labels() const;
  Status look_for_variables() const;
  Status look_for_presets() const;

  const Session& session_;
  ModulePresets offered_;  // empty if none are to be offered
  bool has_offered_ = false;
  std::set<std::string> announced_;  // paths of publishers
  std::optional<std::uint64_t> announced_plans_;
};

}  // namespace labelscope::cli
