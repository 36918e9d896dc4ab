#include "sources/preset/accessor.h"

#include <algorithm>

#include "sources/preset/accessor_follower.h"

namespace labelscope {

Result<Accessor> decode_accessor(Machine machine, std::span<const std::byte> code,
                                 std::uint64_t address) {
  const auto looked_at = code.first(std::min(code.size(), kAccessorBytes));
  return machine == Machine::kX86_64 ? accessor::follow_x86(looked_at, address)
                                     : accessor::follow_arm(looked_at, address);
}

}  // namespace labelscope
