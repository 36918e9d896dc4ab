#include "labelscope/saved_pointer.h"

#include <unistd.h>

#include <chrono>
#include <optional>

#include "labelscope/stopped_thread.h"
#include "ptrace/holding.h"

namespace labelscope {
namespace {

// A thread that runs stops at once. It is not worth waiting for one that sleeps uninterruptibly.
constexpr std::chrono::milliseconds kPatience{50};

Result<SavedPointer> stop_once(Tid tid) {
  const Holding holding;
  auto stopped = StoppedThread::stop(tid, kPatience);
  if (stopped) {
    auto pointer = stopped->thread_pointer();
    return pointer && *pointer != 0 ? SavedPointer::kTrue : SavedPointer::kNotYet;
  }
  switch (stopped.error().code) {
    case ErrorCode::kVanished:
      return SavedPointer::kTrue;  // there is no first thread that could be wrong
    case ErrorCode::kLimit:
      return SavedPointer::kNotYet;
    default:
      return std::move(stopped).error();
  }
}

}  // namespace

Result<SavedPointer> refresh_saved_pointer(Pid pid) {
  // labelscope itself has waited for something since it was started, so its saved pointer is right.
  if (!kSavedPointerLags || raw(pid) == ::getpid()) return SavedPointer::kTrue;
  std::optional<Result<SavedPointer>> answer;
  Status ran = run_on_own_thread([&] { answer.emplace(stop_once(Tid{raw(pid)})); });
  if (!ran) return std::move(ran).error();
  return *std::move(answer);
}

}  // namespace labelscope
