// One combination of the resolver matrix (tests/targets/matrix.cmake) as ctest asks for it, and
// what every reader has to show for it. Which one is in the environment, so that each is a ctest
// case of its own:
//   LABELSCOPE_MATRIX_CASE=glibc-lld-gnu2-dlopen/untouched ./resolver_matrix_test
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "labelscope/label.h"
#include "support/target_process.h"

namespace labelscope::test {

struct MatrixCase {
  std::string name;          // libc-linker-dialect-shape
  std::string thread_kinds;  // one, many, untouched or all
  TargetOptions options;     // starts the target; "--stay" is left to the test
};

// The combination that LABELSCOPE_MATRIX_CASE names. Skips the test where it cannot exist here,
// with the toolchain's own reason; fails it where it cannot exist here although matrix_expected.txt
// does not say so.
MatrixCase require_matrix_case();

// The case's target, ready, its threads in pause() or burning CPU.
TargetProcess start_target(const MatrixCase& matrix_case, const std::string& stay);

// Keys and values in sorted order. The truth has each pair once, though two publishers may share a
// variable.
using LabelPairs = std::vector<std::pair<std::string, std::string>>;
LabelPairs sorted_pairs(const LabelSet& labels);
LabelPairs true_labels(const TruthThread& thread);
// For messages: control characters and bytes above 0x7e as \xNN.
std::string printable(const LabelPairs& labels);

// In this combination a thread that never touched the variable has no TLS block for it.
bool allocates_on_touch(const MatrixCase& matrix_case);

}  // namespace labelscope::test
