// ProcessKey says which process something is of. A number alone does not: the kernel gives it to
// another process when this one has ended, and a process may execute another program, which has
// nothing in common with the one before.
#pragma once

#include <compare>
#include <cstdint>

#include "labelscope/ids.h"

namespace labelscope {

struct ProcessKey {
  Pid pid{};
  // Which of the processes that have had this number, and which of its programs. A sampler gives
  // each another one; 0 is none of them. Nothing but equality is meant.
  std::uint32_t life = 0;
  auto operator<=>(const ProcessKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace labelscope
