// This is where stepping begins: addresses in the code of a process at which a breakpoint stops a
// thread that runs freely, with the reasons. If a trigger is missing, an update is missed. One
// trigger too many only costs time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/step/breakpoints.h"
#include "cli/step/code_map.h"
#include "cli/step/instruction.h"
#include "labelscope/plan.h"

namespace labelscope::cli {

// Updates that the user has declared: a function whose every call is one update, or a pair, of
// which the first begins an update and the second ends it. They are named by symbol, or as people
// write them ("ns::f").
struct DeclaredUpdates {
  std::vector<std::string> functions;
  std::vector<std::string> begins;
  std::vector<std::string> ends;
  std::uint64_t max_steps = 0;  // a declared update that takes more counts as one without an end

  // Parses "f" and "begin:end". Adds the names that a program may define itself.
  static DeclaredUpdates parse(const std::vector<std::string>& words);
};

enum TriggerReason : unsigned {
  kWriterTrigger = 1U << 0,  // start of a function that may change labels
  kUpdateTrigger = 1U << 1,  // start of a function that is a declared update
  kUpdateBeginTrigger = 1U << 2,
  kUpdateEndTrigger = 1U << 3,
  kProgramTrigger = 1U << 4,  // first instruction of the program
  // function that the loader calls when it has loaded or unloaded something
  kLoaderTrigger = 1U << 5,
  kReferenceTrigger = 1U << 6,  // instruction in a function that refers to the variable
  kSuspectTrigger = 1U << 7,    // start of a function of which nothing is known (suspects.h)
};

class Triggers {
 public:
  Triggers(Breakpoints& breakpoints, CodeMap& code, const DeclaredUpdates& declared)
      : breakpoints_(breakpoints), code_(code), declared_(declared) {}

  void add(Address address, unsigned reasons);
  void remove(Address address, unsigned reasons);
  // Returns the reasons at an address; 0: none.
  unsigned at(Address address) const;

  // Adds the triggers in loaded code. The plan names the files that publish.
  void add_range(const MappedCode& range, const ProcessPlan& plan);
  // Replaces the trigger at the function's start by triggers at those of its instructions that
  // refer to the variable.
  void narrow_to_references(Address function_start, const Disassembler& disassembler);

  // Declared updates that no file had, as the user named them.
  std::set<std::string> missing() const;
  // Returns whether some trigger leads to updates.
  bool any_writer() const { return writers_ != 0; }
  void remove_all();
  // Forgets the triggers in this range, whose memory is gone.
  void forget(Address start, Address end);

 private:
  void add_functions(const MappedCode& range);
  void add_references(const MappedCode& range, const ProcessPlan& plan);
  bool is_named(const FunctionSymbol& function, const std::vector<std::string>& names);

  Breakpoints& breakpoints_;
  CodeMap& code_;
  const DeclaredUpdates& declared_;
  std::unordered_map<Address, unsigned> reasons_;
  std::unordered_map<Address, std::vector<Address>> references_;  // by start of their function
  std::set<std::string> found_;                                   // declared names that a file has
  std::size_t writers_ = 0;
};

}  // namespace labelscope::cli
