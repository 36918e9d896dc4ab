// One combination of the resolver matrix (tests/targets/matrix.cmake) as ctest asks for it, and
// what every reader must show for it. The environment says which one, so that each is a ctest case
// of its own:
//  LABELSCOPE_MATRIX_CASE=glibc-lld-gnu2-dlopen/untouched ./resolver_matrix_test
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

// Returns the combination that LABELSCOPE_MATRIX_CASE names. Skips the test where it cannot exist
// here, with the toolchain's own reason. Fails it where it cannot exist here although
// matrix_expected.txt does not say so.
MatrixCase require_matrix_case();

// Starts the case's target, and waits until its threads are in pause() or burn CPU time.
TargetProcess start_target(const MatrixCase& matrix_case, const std::string& stay);

// Keys and values are in sorted order. The truth has each pair once, though two publishers may
// share a variable.
using LabelPairs = std::vector<std::pair<std::string, std::string>>;
LabelPairs sorted_pairs(const LabelSet& labels);
LabelPairs true_labels(const TruthThread& thread);
// Returns labels for messages, with control characters and bytes above 0x7e as \xNN.
std::string printable(const LabelPairs& labels);

// Returns whether, in this combination, a thread that never touched the variable has no TLS block
// for it.
bool allocates_on_touch(const MatrixCase& matrix_case);

}  // namespace labelscope::test
