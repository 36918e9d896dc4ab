// Decides which changes of a label set are one update, and which states within an update no reader
// should have seen. It knows nothing of processes: its caller passes it all that happened.
//
// A reader may interrupt the thread between any two instructions. So some reader sees each state of
// the set, and the program must have meant it: the set before an update, or the one after it. A
// state in between is torn:
//
//   label set   S0 --c1--> S1 --c2--> S2 --c3--> S3        c1, c2, c3: changes
//               before     |<- torn? ->|         after     if the three are one update
//
// The hard part is what an update is: `set(a); set(b);` are two, and the state between them is
// right. Two changes in succession are one update
//   - in a declared update: if both happened in it;
//   - in a library that publishes: if the same call into the library made both, and no code of the
//     program ran in between (a callback may see the labels that are set when it is called);
//   - in code of the program: if both happened in the same activation of one function (inlined
//     functions count), and that function itself made at least one of them, in place.
//
// The last rule has three exceptions:
//   - Storing the address of a finished set is an update of its own, unless the runtime (free,
//     memcpy) changed that set's bytes right before or after.
//   - If the function called other code of the program for long in between, there are two updates.
//   - If a loop around an inlined function came to its next iteration in between, too.
//
// Outside of declared updates two kinds of states count as meant: one that lasts (kStableSteps, or
// while the thread sleeps); and, in the program's own code, one that has only labels of the sets
// before and after, and lacks none that both have. Labels that are set one by one look like that.
// Writers of some label sources show no labels at all while they change them (UpdateRule::hides):
// that state is never torn. Some have keys whose values belong together, as the IDs of a trace and
// a span (UpdateRule::together): new ones with old ones are torn, whatever code has set them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sources/label_source.h"

namespace labelscope::cli {

// A state that lasts for more instructions than this was meant. A long memcpy, malloc or hash in
// the middle of an update takes fewer; a program that works or waits takes more.
inline constexpr std::uint64_t kStableSteps = 20'000;
// A helper of a writer (for example one that copies a string, or compares keys) takes fewer
// instructions.
inline constexpr std::uint64_t kCalleeSteps = 1'000;

struct Change {
  SetCheck check;           // the set after the change
  bool published = false;   // made by a store to the variable itself
  bool by_runtime = false;  // the instruction is one of libc's, malloc's, ...
  // The functions of the writer's author in which it happened, outermost first. Each activation is
  // followed by the functions that are inlined in it.
  std::vector<std::string> chain;
  std::uint64_t publisher_call = 0;  // activation of the publisher's outermost function; 0: none
  std::uint64_t region = 0;          // the declared update; 0: none
  std::vector<Address> addresses;    // address of the instruction, then those of its callers
};

// What the thread did since the last change.
struct Interval {
  bool ran_free = false;  // it was not stepped for a while
  bool waited = false;    // it made a system call that waits
  std::uint64_t steps = 0;
  std::uint64_t program_steps = 0;  // own steps in the program's code, whatever called it
  // steps in functions of the program that were called and have returned
  std::uint64_t callee_steps = 0;
  std::vector<std::vector<std::string>> jumps_back;  // chains of the jumps to lower addresses
};

struct UpdateFinding : Finding {
  const Change* change = nullptr;  // it made the state; null: the set was found like this
  CheckedSet before;
  CheckedSet seen;
  CheckedSet after;
};

class UpdateJudge {
 public:
  using Report = std::function<void(const UpdateFinding&)>;

  // `rule` is that of the label source, `at_rest` the set as it was found.
  UpdateJudge(const UpdateRule& rule, const SetCheck& at_rest, Report report);

  void add(Change change, const Interval& since);
  // Ends the current update, if there is one; `now` is its last state.
  void finish(const SetCheck& now);
  // The set changed while the thread ran freely. Call finish() before this.
  void found(const SetCheck& at_rest);
  // Returns the number of updates that were stepped through from beginning to end.
  std::uint64_t updates() const { return closed_; }
  // Functions of the program of which one call published a set and then changed it in place. These
  // count as two updates. Whether they are two, only the author knows.
  const std::set<std::string>& doubtful() const { return doubtful_; }

 private:
  static bool are_one_update(const Change& first, const Change& second, const Interval& between);
  void note_doubt(const Change& first, const Change& second, const Interval& between);
  void close();
  // Returns what is wrong for readers while the set is as it is after this change; nullopt:
  // nothing.
  std::optional<std::string> what_is_torn(const Change& change) const;
  void report_rules(const Change& change, const SetCheck& before);

  UpdateRule rule_;
  Report report_;
  SetCheck before_;
  std::vector<Change> changes_;
  std::uint64_t closed_ = 0;
  std::set<std::string> doubtful_;
};

}  // namespace labelscope::cli
