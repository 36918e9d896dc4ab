// Used if watchpoints report nothing: functions of the program that are suspected of changing
// labels.
//
// A function that changes labels through a pointer has nothing in its code that shows it. With
// watchpoints the change itself stops the thread. Without them only steps show it. So from the
// first labels on every function of the program is a trigger for threads that have labels:
//
//   suspected --- some calls in a row, each stepped through, have changed no label ---> let go
//       ^                                                                                 |
//       +------------- labels have changed while a thread ran freely ---------------------+
//
// Why the variable's page is not made read-only, so that a store faults: the C library keeps its
// own data of the thread in that page, and a stack may begin there. The kernel writes to them, too
// (rseq, the thread's number at its end, buffers of system calls). If it cannot, system calls
// fail, and the program dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "cli/step/code_map.h"
#include "cli/step/triggers.h"

namespace labelscope::cli {

class Suspects {
 public:
  // So many calls of a function in a row that change no label clear it of suspicion.
  static constexpr unsigned kQuietCalls = 8;
  // Stopping a thread without labels at a function shows nothing and takes time, so it is done at
  // most so often.
  static constexpr unsigned kMostPasses = 1'000;

  Suspects(Triggers& triggers, CodeMap& code) : triggers_(triggers), code_(code) {}

  // Call it if there are no watchpoints.
  void begin() { active_ = true; }
  bool active() const { return active_; }
  // A thread has labels. The first such call makes all functions of the program suspects, also
  // those that are loaded later.
  void note_labels();
  // Adds the functions of code that was loaded, if all are suspected.
  void add_range(const MappedCode& range);
  // Forgets functions whose memory is gone.
  void forget(Address start, Address end);

  // Returns whether to step a call of this function, which is a trigger for no other reason. If the
  // function is none of the author's, the answer is no, and it stops being a trigger.
  bool is_worth_stepping(Address function);
  // A thread without labels has called the function.
  void note_pass(Address function);
  // A call of the function was stepped.
  void note_call(Address function, bool changed);
  // The function goes on for long without changing labels.
  void let_go(Address function);
  // Labels have changed, and no step has shown which function did it.
  void suspect_again();
  // Returns the numbers of functions that are let go now: because they changed no label, and
  // unseen, because threads without labels called them again and again.
  std::size_t count_let_go() const { return let_go_.size() - passed_.size(); }
  std::size_t count_passed() const { return passed_.size(); }

  // Remembers that a callee was left out because it went on for long. Returns true the first time.
  bool note_long(Address function) { return long_.insert(function).second; }
  bool was_long(Address function) const { return long_.count(function) != 0; }

 private:
  Triggers& triggers_;
  CodeMap& code_;
  bool active_ = false;
  bool has_labels_ = false;
  unsigned times_again_ = 0;
  std::unordered_map<Address, unsigned> passes_;
  std::unordered_map<Address, unsigned> quiet_calls_;  // calls in a row
  std::unordered_set<Address> let_go_;
  std::unordered_set<Address> passed_;  // the unseen ones among these
  std::unordered_set<Address> long_;
};

}  // namespace labelscope::cli
