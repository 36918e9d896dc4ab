// Who is in a cgroup while all of it is recorded. The clock of the group is an account of the
// recording's time only if each recorded process was in it all the time, and no other one ever:
//
//   the group is looked at   before the start, after it    now and then    before the end
//   a process in it that the recording does not know       a suspect: its fork may be reported yet
//   a recorded process that runs elsewhere                 has left
//
// A suspect is judged at the next look, when what the sampler had to report has been taken. Nothing
// reports who enters a group, so one that comes and ends between two looks is not seen.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/record/group_clock.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// The processes of a group and those below it; nothing if there are too many groups, or none.
std::optional<std::vector<Pid>> processes_of_group(const std::string& folder);

class GroupMembers {
 public:
  // Whether a process was recorded at any time.
  using Knows = std::function<bool(Pid)>;

  explicit GroupMembers(GroupClock group, std::string proc = "/proc")
      : group_(std::move(group)), proc_(std::move(proc)) {}

  // Looks who is there. `recorded` are the recorded processes of which no end is known.
  void look(const std::set<Pid>& recorded, const Knows& knows);
  // The last look, after the sampler has stopped: whoever enters now does not matter.
  void look_last(const std::set<Pid>& recorded, const Knows& knows);
  // A process was recorded from a moment on that nobody knows: it may have run in the group before.
  void note_entered(Pid pid) { doubt(pid, "came to the recording after it had begun"); }
  const GroupClock& clock() const { return group_; }
  // Why the clock is no account of the recording; empty as far as anybody has seen.
  const std::string& doubt() const { return doubt_; }

 private:
  void judge_suspects(const Knows& knows);
  void look_for_absent(const std::set<Pid>& recorded, const std::set<Pid>& present);
  void doubt(Pid pid, const char* what);

  GroupClock group_;
  std::string proc_;
  std::set<Pid> suspects_;
  std::set<Pid> children_;  // of what is recorded, whether they could be followed or not
  std::string doubt_;
};

}  // namespace labelscope::cli
