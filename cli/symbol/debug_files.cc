// libdebuginfod is loaded by libdw at run time if it is installed; so are the two functions of it
// that are needed here to watch over downloads.
#include "cli/symbol/debug_files.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

// Long enough for the debug information of a large program, short enough for a server that is down:
// its connections time out one after the other, a minute and a half for each module.
constexpr std::chrono::seconds kMaxDownloadTime{120};

using Progress = int (*)(debuginfod_client*, long, long);
using SetProgress = void (*)(debuginfod_client*, Progress);
using SetUserData = void (*)(debuginfod_client*, void*);
using UserData = void* (*)(debuginfod_client*);

struct DebuginfodApi {
  SetProgress set_progress = nullptr;
  SetUserData set_user_data = nullptr;
  UserData user_data = nullptr;
  bool complete() const {
    return set_progress != nullptr && set_user_data != nullptr && user_data != nullptr;
  }
};

template <class Function>
Function function_in(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

DebuginfodApi load_api() {
  DebuginfodApi api;
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_LAZY);
  if (library == nullptr) return api;
  api.set_progress = function_in<SetProgress>(library, "debuginfod_set_progressfn");
  api.set_user_data = function_in<SetUserData>(library, "debuginfod_set_user_data");
  api.user_data = function_in<UserData>(library, "debuginfod_get_user_data");
  return api;
}

const DebuginfodApi& debuginfod_api() {
  static const DebuginfodApi api = load_api();
  return api;
}

bool downloads_wanted() {
  const char* urls =
      std::getenv("DEBUGINFOD_URLS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return urls != nullptr && *urls != '\0';
}

// A debug link is chosen by the program under observation, and so is the folder: opening a FIFO
// there would block for ever, opening a device might do anything.
bool is_plain_or_absent(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

// Where libdwfl looks for a debug link of this name that is no absolute path: beside the file, and
// beside what a symbolic link leads to.
std::vector<std::string> candidates(const char* file_name, const std::string& link) {
  std::vector<std::string> found;
  char* resolved = ::realpath(file_name, nullptr);
  std::string real = resolved != nullptr ? resolved : file_name;
  std::free(resolved);  // NOLINT(cppcoreguidelines-no-malloc): realpath allocates
  for (const std::string& name : {std::string(file_name), real}) {
    const std::string folder = name.substr(0, name.rfind('/') + 1);
    found.push_back(folder + link);
    found.push_back(folder + ".debug/" + link);
  }
  return found;
}

bool is_safe_link(const char* file_name, const char* debug_link) {
  if (debug_link == nullptr) return true;
  if (*debug_link == '/') return is_plain_or_absent(debug_link);
  const std::vector<std::string> paths = candidates(file_name, debug_link);
  return std::all_of(paths.begin(), paths.end(), is_plain_or_absent);
}

// Whether there is anything that libdwfl would find by a name rather than a build ID.
bool has_candidate(const char* file_name, const char* debug_link) {
  if (debug_link != nullptr && *debug_link == '/') return true;
  const std::string base = std::string(base_name(file_name));
  std::vector<std::string> paths =
      candidates(file_name, debug_link != nullptr ? debug_link : base + ".debug");
  const std::size_t beside = paths.size();
  for (std::size_t i = 0; i < beside; ++i) {
    // The whole path there, and each part that remains without its first folders.
    for (std::size_t at = 0; at != std::string::npos; at = paths[i].find('/', at + 1)) {
      paths.push_back("/usr/lib/debug" + paths[i].substr(at));
    }
  }
  return std::any_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; });
}

}  // namespace

int DebugFiles::find(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                     const char* file_name, const char* debug_link, GElf_Word crc,
                     char** debug_file) {
  auto* self = static_cast<DebugFiles*>(*userdata);
  // Without a folder a debug link would be looked for in the current one.
  if (file_name == nullptr || *file_name != '/') {
    return dwfl_build_id_find_debuginfo(module, userdata, module_name, base, nullptr, nullptr, 0,
                                        debug_file);
  }
  if (!is_safe_link(file_name, debug_link)) {
    self->problem_ = "a debug link leads to something that is not a file: not opened";
    errno = 0;
    return -1;
  }
  if (!downloads_wanted()) {
    // libdwfl would load libdebuginfod and the thirty libraries that it needs, only to learn that
    // there is no server to ask.
    const int fd = dwfl_build_id_find_debuginfo(module, userdata, module_name, base, nullptr,
                                                nullptr, 0, debug_file);
    if (fd >= 0 || !has_candidate(file_name, debug_link)) return fd;
  }
  self->search_start_ = std::chrono::steady_clock::now();
  int fd = dwfl_standard_find_debuginfo(module, userdata, module_name, base, file_name, debug_link,
                                        crc, debug_file);
  if (downloads_wanted()) self->waited_ += std::chrono::steady_clock::now() - self->search_start_;
  return fd;
}

void DebugFiles::watch_downloads(Dwfl* dwfl) {
  if (!downloads_wanted() || !debuginfod_api().complete()) return;
  debuginfod_client* client = dwfl_get_debuginfod_client(dwfl);
  if (client == nullptr) return;
  debuginfod_api().set_user_data(client, this);
  debuginfod_api().set_progress(client, &DebugFiles::on_progress);
}

// Called about once a second while a server is asked; anything but 0 gives up this download.
int DebugFiles::on_progress(debuginfod_client* client, long /*done*/, long /*total*/) {
  auto* self = static_cast<DebugFiles*>(debuginfod_api().user_data(client));
  return self->must_stop() ? 1 : 0;
}

bool DebugFiles::must_stop() {
  if (cancelled_ && cancelled_()) {
    problem_ = "cancelled while debuginfod was asked";
    return true;
  }
  if (waited_ + (std::chrono::steady_clock::now() - search_start_) < kMaxDownloadTime) return false;
  problem_ = "debuginfod took more than " + std::to_string(kMaxDownloadTime.count()) +
             " s, so further downloads were given up";
  return true;
}

}  // namespace labelscope::cli
