#include "process/first_looks.h"

#include <csignal>
#include <new>
#include <system_error>
#include <utility>

namespace labelscope {
namespace {

// So many processes are looked at beforehand, which is all of most servers, while their mappings
// together take no more than this memory.
constexpr std::size_t kMostLooks = 64;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;

}  // namespace

void FirstLooks::begin() {
  settle();
  looks_.clear();
  // The new thread blocks all signals, so that only threads that wait for them get them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { read(); });
  } catch (const std::system_error&) {
    read();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void FirstLooks::settle() {
  if (thread_.joinable()) thread_.join();
}

// What fails here fails again, with its reason, when the process is looked at for its plan.
void FirstLooks::read() try {
  std::size_t bytes = 0;
  for (const Pid pid : pids_) {
    if (looks_.size() == kMostLooks || bytes > kMostBytes) return;
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
