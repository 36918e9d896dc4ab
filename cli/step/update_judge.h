// Which changes of a label set are one update, and which states within an update no reader should
// have seen. Pure: it is told what happened and asks nothing.
//
// A reader may interrupt the thread between any two instructions. So every state of the set is
// somebody's answer, and must be one that the program meant: the set before an update or the one
// after it. What is in between is torn. The hard part is what an update is, because
// `set(a); set(b);` are two, and the state between them is right. Two changes, one after the other,
// belong together
//   - if the program says so: both happened in the same declared update;
//   - in a library that publishes: if the same call into it made both, and none of the program's
//     own code ran in between (a callback is meant to see its labels);
//   - in code of the program: if the same activation of the same function (inlined ones count)
//     contains both and itself made at least one, in place. Storing the address of a finished set
//     is an update of its own, unless the runtime (free, memcpy) changed that set's bytes just
//     before or after. Nor do changes belong together if the function called other code of the
//     program for long in between, or if a loop around an inlined function came to its next turn.
// Outside of declared updates, a state that lasts (kStableSteps, or a sleep) was meant; and in the
// program's own code so was one that consists of labels of the sets around it and lacks none that
// both have: that is what labels look like that are set one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "labelscope/check_set.h"

namespace labelscope::cli {

// A longer memcpy, malloc or hash in the middle of an update takes fewer instructions than this;
// who waits or works in between takes more.
inline constexpr std::uint64_t kStableSteps = 20'000;
// A helper of a writer (a copy of a string, a comparison of keys) takes fewer.
inline constexpr std::uint64_t kCalleeSteps = 1'000;

struct Change {
  SetCheck check;           // the set from then on
  bool published = false;   // by a store to the variable itself
  bool by_runtime = false;  // the instruction is one of libc's, malloc's, ...
  // The author's functions that it happened in, outermost first: activations, and within each the
  // inlined functions.
  std::vector<std::string> chain;
  std::uint64_t publisher_call = 0;  // activation of the publisher's outermost function; 0: none
  std::uint64_t region = 0;          // declared update; 0: none
  std::vector<Address> addresses;    // of the instruction, then of its callers
};

// What the thread did since the change before, or since its update began.
struct Interval {
  bool ran_free = false;  // for a while it was not stepped
  bool waited = false;    // it asked the kernel to let time pass
  std::uint64_t steps = 0;
  std::uint64_t program_steps = 0;  // of the program's own code, whoever called it
  std::uint64_t callee_steps = 0;   // of functions of the program that came and went meanwhile
  std::vector<std::vector<std::string>> jumps_back;  // chains of the jumps to lower addresses
};

struct UpdateFinding {
  RuleId rule{};
  std::string found;
  std::string fix;
  const Change* change = nullptr;  // that made the state; null: it was found so
  CheckedSet before;
  CheckedSet seen;
  CheckedSet after;
};

class UpdateJudge {
 public:
  using Report = std::function<void(const UpdateFinding&)>;

  // `at_rest`: the set as it was found.
  UpdateJudge(const SetCheck& at_rest, Report report);

  void add(Change change, const Interval& since);
  // The update that went on is over, `now` being its last state. True if there was one.
  bool finish(const SetCheck& now);
  // The set was changed while nobody looked; a finish() came before.
  void found(const SetCheck& at_rest);
  // Updates that were seen from beginning to end.
  std::uint64_t updates() const { return closed_; }
  // Functions of the program a call of which published a set and then changed it in place: taken
  // for two updates, and nobody but the author knows better.
  const std::set<std::string>& doubtful() const { return doubtful_; }

 private:
  bool are_one_update(const Change& first, const Change& second, const Interval& between) const;
  void note_doubt(const Change& first, const Change& second, const Interval& between);
  void close();
  bool is_torn(std::size_t index) const;
  void report_rules(const Change& change, const SetCheck& before);
  void report_at_rest(const SetCheck& now);

  Report report_;
  SetCheck before_;
  std::vector<Change> changes_;
  std::uint64_t closed_ = 0;
  std::set<std::string> doubtful_;
};

}  // namespace labelscope::cli
