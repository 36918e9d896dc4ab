// What stepping has found, each thing once for the place in the code that it comes from, with names
// and lines. Asked while the program is stopped, so that its files and its code are still there.
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
  // By code, then as found.
  std::vector<Diagnostic> take();

 private:
  // Rule, module, and the address there of the author's instruction; no address where it is not
  // known.
  using Key = std::tuple<RuleId, std::string, Address>;

  std::map<Key, std::size_t> known_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace labelscope::cli
