#include "bpf/sampling/first_threads.h"

#include <algorithm>

#include "labelscope/saved_pointer.h"

namespace labelscope {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{20};
constexpr milliseconds kLongestDelay{1000};
// musl's loader sets the thread pointer twice. This long after the first question it has set it the
// second time, unless something keeps the loader waiting. An answer is then right for good.
constexpr milliseconds kStarted{500};

}  // namespace

bool FirstThreads::ask(Pid pid, std::uint32_t life) {
  const auto now = Clock::now();
  auto [entry, fresh] = threads_.try_emplace(pid);
  Thread& thread = entry->second;
  if (fresh || thread.life != life)
    thread = {life, now, now, kFirstDelay, false, false, false};
  if (thread.for_good) return true;
  const auto saved = refresh_saved_pointer(pid);
  thread.refused = !saved;
  thread.known |= saved && *saved == SavedPointer::kTrue;
  thread.for_good = thread.known && now - thread.first_asked >= kStarted;
  thread.ask_next = now + thread.delay;
  thread.delay = std::min(2 * thread.delay, kLongestDelay);
  return thread.known;
}

bool FirstThreads::has_asked(Pid pid, std::uint32_t life) const {
  auto known = threads_.find(pid);
  return known != threads_.end() && known->second.life == life;
}

std::vector<std::pair<Pid, std::uint32_t>> FirstThreads::due() const {
  std::vector<std::pair<Pid, std::uint32_t>> due;
  const auto now = Clock::now();
  for (const auto& [pid, thread] : threads_) {
    if (!thread.known && thread.ask_next <= now) due.emplace_back(pid, thread.life);
  }
  return due;
}

std::uint64_t FirstThreads::refused() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      threads_, [](const auto& entry) { return entry.second.refused && !entry.second.known; }));
}

}  // namespace labelscope
