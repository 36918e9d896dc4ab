// libdebuginfod is loaded at run time, if it is installed and wanted: it needs thirty libraries.
//
// It waits for a server a second at a time, and checks nothing else meanwhile. So a thread of its
// own waits for it, and labelscope for that thread. When the user gives up, the thread is left
// behind, and ends as soon as the library asks it whether to go on.
#include "cli/symbol/debuginfod.h"

#include <dlfcn.h>
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "labelscope/result.h"

namespace labelscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for the debug information of a large program, short enough for a server that is down:
// its connections time out one after the other, a minute and a half for each module.
constexpr std::chrono::seconds kMaxDownloadTime{120};
constexpr std::chrono::milliseconds kBetweenAskingDownload{50};
// At the end labelscope waits so long for threads that are still in the library, which asks every
// second.
constexpr std::chrono::seconds kMostLeaving{3};

struct Client;  // the library's debuginfod_client

struct Api {
  Client* (*begin)() = nullptr;
  void (*end)(Client*) = nullptr;
  int (*find)(Client*, const unsigned char*, int, char**) = nullptr;
  void (*set_progress)(Client*, int (*)(Client*, long, long)) = nullptr;
  void (*set_user_data)(Client*, void*) = nullptr;
  void* (*user_data)(Client*) = nullptr;
};

template <class Function>
bool load_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

const Api* api() {
  static Api loaded;
  static const bool complete = [] {
    void* library = ::dlopen("libdebuginfod.so.1", RTLD_LAZY);
    return library != nullptr && load_function(library, "debuginfod_begin", loaded.begin) &&
           load_function(library, "debuginfod_end", loaded.end) &&
           load_function(library, "debuginfod_find_debuginfo", loaded.find) &&
           load_function(library, "debuginfod_set_progressfn", loaded.set_progress) &&
           load_function(library, "debuginfod_set_user_data", loaded.set_user_data) &&
           load_function(library, "debuginfod_get_user_data", loaded.user_data);
  }();
  return complete ? &loaded : nullptr;
}

}  // namespace

bool Debuginfod::has_servers() {
  const char* urls =
      std::getenv("DEBUGINFOD_URLS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return urls != nullptr && *urls != '\0';
}

// What the thread and its caller share.
struct Download {
  std::string build_id;
  std::atomic<bool> given_up{false};
  std::atomic<std::size_t> done{0};
  std::atomic<std::size_t> all{0};
  std::mutex mutex;
  std::condition_variable over;
  bool is_over = false;
  UniqueFd file;
  int error = 0;  // why there is no file
};

namespace {

// Called about once a second while a server is asked; any result but 0 gives up this download.
// Before the size is known, `done` counts calls.
int on_progress(Client* client, long done, long all) {
  auto* work = static_cast<Download*>(api()->user_data(client));
  if (done >= 0 && all > 0) {
    work->done = static_cast<std::size_t>(done);
    work->all = static_cast<std::size_t>(all);
  }
  return work->given_up ? 1 : 0;
}

void download(const std::shared_ptr<Download>& download) {
  int fd = -ENOMEM;
  if (Client* client = api()->begin(); client != nullptr) {
    api()->set_user_data(client, download.get());
    api()->set_progress(client, on_progress);
    // A length of 0 means that the build ID is in hexadecimal.
    fd = api()->find(client, reinterpret_cast<const unsigned char*>(download->build_id.c_str()), 0,
                     nullptr);
    api()->end(client);
  }
  const std::lock_guard lock(download->mutex);
  download->file.reset(fd >= 0 ? fd : -1);
  download->error = fd < 0 ? -fd : 0;
  download->is_over = true;
  download->over.notify_all();
}

}  // namespace

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
  if (api() == nullptr) {
    return {{}, "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed"};
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
                    system_error(work->error, "debuginfod").context;
  }
  return found;
}

}  // namespace labelscope::cli
