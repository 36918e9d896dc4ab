#include "cli/step/call_stack.h"

namespace labelscope::cli {

std::vector<Address> CallStack::addresses(Address pc) const {
  // Of a deep recursion the innermost calls are enough.
  constexpr std::size_t kMost = 64;
  std::vector<Address> all{pc};
  for (std::size_t i = frames_.size(); i > 0 && all.size() < kMost; --i) {
    if (frames_[i - 1].called_from != 0) all.push_back(frames_[i - 1].called_from);
  }
  return all;
}

}  // namespace labelscope::cli
