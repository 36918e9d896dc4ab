#include "cli/record/early_mappings.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "process/named_mappings.h"

namespace labelscope::cli {
namespace {

// A thread that was joined is in /proc for some microseconds more.
constexpr std::chrono::microseconds kPause{50};
constexpr int kMostPauses = 2000;

}  // namespace

void EarlyMappings::begin(const std::vector<Pid>& pids) {
  // Its signals stay blocked, as they are in this thread.
  const auto first = std::span(pids).first(std::min(pids.size(), kMostProcesses));
  try {
    thread_ = std::thread([this, chosen = std::vector<Pid>(first.begin(), first.end())] {
      tid_ = ::gettid();
      try {
        read(chosen);
      } catch (const std::bad_alloc&) {
        return;  // planning needs memory, too, and reports it
      }
    });
  } catch (const std::system_error&) {
    return;  // there is no room for a thread: planning reads them
  }
}

void EarlyMappings::read(const std::vector<Pid>& pids) {
  for (const Pid pid : pids) {
    if (enough_) return;
    const auto process = LiveProcess::open(pid);
    if (!process) continue;
    std::string program = (*process)->program();
    auto mappings = listed_mappings(**process);
    if (mappings && !mappings->empty() && !program.empty())
      seen_[pid] = {std::move(program), *std::move(mappings)};
  }
}

void EarlyMappings::settle() {
  enough_ = true;
  if (!thread_.joinable()) return;
  thread_.join();
  const std::string task = "/proc/self/task/" + std::to_string(tid_);
  for (int i = 0; i < kMostPauses && ::access(task.c_str(), F_OK) == 0; ++i) {
    ::usleep(kPause.count());
  }
}

std::optional<std::vector<Mapping>> EarlyMappings::take(const LiveProcess& process) {
  auto seen = seen_.extract(process.pid());
  if (!seen || seen.mapped().program != process.program()) return std::nullopt;
  return std::move(seen.mapped().mappings);
}

}  // namespace labelscope::cli
