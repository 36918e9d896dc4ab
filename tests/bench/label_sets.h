// Label sets of the calling thread, laid out in memory as writers do, since the cost of a walk
// depends on that. They are published through a variable of the benchmark's own, or through
// libcustomlabels.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"

namespace labelscope::bench {

enum class Layout {
  kScattered,   // every string allocated on its own, in a heap with many holes
  kContiguous,  // all strings in one allocation, the elements in another
  kWriter,      // as libcustomlabels does it
};
std::string_view layout_name(Layout layout);

struct SetKind {
  Layout layout = Layout::kScattered;
  std::size_t labels = 0;
};
// Returns the sets that are measured: 2, 5, 10 and 32 labels in each layout, up to the writer's
// limit.
std::vector<SetKind> all_set_kinds();

// Replaces what this thread publishes. Returns how to find it from this thread's thread pointer.
Result<ls_tls_recipe> publish(const SetKind& kind);

// Returns the bytes of all keys and values of such a set.
std::size_t label_bytes(std::size_t labels);

}  // namespace labelscope::bench
