// Says, as long as the object lives, that a thread is held. Another thread watches that.
#pragma once

#include <atomic>
#include <cstdint>

namespace labelscope {

class MarkedStop {
 public:
  // `number`: different for each stop, and not 0. `current` is null if nobody watches.
  MarkedStop(std::atomic<std::uint64_t>* current, std::uint64_t number) : current_(current) {
    if (current_ != nullptr) *current_ = number;
  }
  ~MarkedStop() {
    if (current_ != nullptr) *current_ = 0;
  }
  MarkedStop(const MarkedStop&) = delete;
  MarkedStop& operator=(const MarkedStop&) = delete;

 private:
  std::atomic<std::uint64_t>* current_;
};

}  // namespace labelscope
