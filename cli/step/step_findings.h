// The findings of stepping, with names and lines. Each finding is kept once for its place in the
// code. Names are looked up at once, while the program is stopped: its files and its code are still
// there.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/step/breakpoints.h"
#include "cli/step/code_map.h"
#include "cli/step/instruction.h"
#include "cli/step/update_judge.h"
#include "labelscope/diagnostic.h"

namespace labelscope::cli {

class StepFindings {
 public:
  // `subject`: the thread.
  void add(std::string subject, const UpdateFinding& finding, CodeMap& code,
           const Breakpoints& memory, const Disassembler& disassembler);
  // Sorted by rule, then in the order in which they were found.
  std::vector<Diagnostic> take();

 private:
  // Rule, module, and the address there of the author's instruction; no address where it is not
  // known.
  using Key = std::tuple<RuleId, std::string, Address>;

  std::map<Key, std::size_t> known_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace labelscope::cli
