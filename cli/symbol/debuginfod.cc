// A client waits for a server a second at a time, and checks nothing else meanwhile. So a thread of
// its own waits for it, and labelscope for that thread. When the user gives up, the thread is left
// behind, and ends as soon as the client asks whether to go on.
#include "cli/symbol/debuginfod.h"

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "cli/symbol/debuginfod_client.h"
#include "labelscope/result.h"

namespace labelscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for the debug information of a large program, short enough for a server that is down:
// its connections time out one after the other, a minute and a half for each module.
constexpr std::chrono::seconds kMaxDownloadTime{120};
constexpr std::chrono::milliseconds kBetweenAskingDownload{50};
// At the end labelscope waits so long for threads whose client still waits: it asks every second.
constexpr std::chrono::seconds kMostLeaving{3};

void download(const std::shared_ptr<Download>& download) {
  const int fd = ask_debuginfod(*download);
  const std::lock_guard lock(download->mutex);
  download->file.reset(fd >= 0 ? fd : -1);
  download->error = fd < 0 ? -fd : 0;
  download->is_over = true;
  download->over.notify_all();
}

}  // namespace

bool Debuginfod::has_servers() {
  const char* urls =
      std::getenv("DEBUGINFOD_URLS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return urls != nullptr && *urls != '\0';
}

Debuginfod::~Debuginfod() {
  const auto latest = Clock::now() + kMostLeaving;
  for (const auto& work : left_behind_) {
    std::unique_lock lock(work->mutex);
    work->over.wait_until(lock, latest, [&] { return work->is_over; });
  }
}

Debuginfod::Answer Debuginfod::find(const std::string& build_id,
                                    const std::function<void(std::size_t, std::size_t)>& progress) {
  if (!has_servers() || build_id.empty()) return {};
  if (const std::string missing = missing_for_debuginfod(); !missing.empty()) {
    return {{}, "DEBUGINFOD_URLS is set, but " + missing + " is not installed"};
  }
  const std::string too_long = "debuginfod took more than " +
                               std::to_string(kMaxDownloadTime.count()) +
                               " s, so further downloads were given up";
  if (waited_ >= kMaxDownloadTime) return {{}, too_long};
  const auto start = Clock::now();
  auto work = std::make_shared<Download>();
  work->build_id = build_id;
  try {
    std::thread(download, work).detach();
  } catch (const std::system_error& error) {
    return {{},
            "DEBUGINFOD_URLS is set, but no thread can be started to ask them: " +
                error.code().message()};
  }
  Answer found;
  std::unique_lock lock(work->mutex);
  while (!work->over.wait_for(lock, kBetweenAskingDownload, [&] { return work->is_over; })) {
    progress(work->done, work->all);
    if (cancelled_ && cancelled_()) found.why_not = "cancelled while debuginfod was asked";
    if (waited_ + (Clock::now() - start) >= kMaxDownloadTime) found.why_not = too_long;
    if (found.why_not.empty()) continue;
    work->given_up = true;
    left_behind_.push_back(work);
    break;
  }
  waited_ += Clock::now() - start;
  found.file = std::move(work->file);
  // It is no problem if no server has it.
  if (work->is_over && work->error != 0 && work->error != ENOENT) {
    found.why_not = "it was not fetched from DEBUGINFOD_URLS: " +
                    (work->problem.empty() ? system_error(work->error, "debuginfod").context
                                           : work->problem);
  }
  return found;
}

}  // namespace labelscope::cli
