#include "process/first_looks.h"

#include <cstddef>
#include <new>
#include <utility>

#include "base/deaf_thread.h"

namespace labelscope {

void FirstLooks::begin() {
  settle();
  looks_.clear();
  if (pids_.empty()) return;
  thread_ = start_deaf_thread([this] { read(); });
  if (!thread_.joinable()) read();
}

void FirstLooks::settle() {
  if (thread_.joinable()) thread_.join();
}

// What fails here fails again, with its reason, when the process is looked at for its plan.
void FirstLooks::read() try {
  std::size_t bytes = 0;
  for (const Pid pid : pids_) {
    if (looks_.size() == bounds_.processes || bytes >= bounds_.bytes) return;
    auto process = LiveProcess::open(pid);
    if (!process) continue;
    const auto added = looks_.try_emplace(pid, *std::move(process)).first;
    const std::size_t taken = added->second.look.read_ahead();
    if (taken == 0) looks_.erase(added);
    bytes += taken;
  }
} catch (const std::bad_alloc&) {
  looks_.clear();
}

const OneLook* FirstLooks::of(Pid pid) const {
  const auto found = looks_.find(pid);
  if (found == looks_.end() || found->second.process->has_replaced_program()) return nullptr;
  return &found->second.look;
}

}  // namespace labelscope
