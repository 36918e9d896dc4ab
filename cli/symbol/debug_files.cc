// libdebuginfod is loaded by libdw at run time if it is installed; so are the two functions of it
// that are needed here to watch over downloads.
#include "cli/symbol/debug_files.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

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

bool is_safe_link(const char* file_name, const char* debug_link) {
  if (debug_link == nullptr) return true;
  std::string link(debug_link);
  if (link.starts_with('/')) return is_plain_or_absent(link);
  // libdwfl also tries the folder that a symbolic link leads to.
  char* resolved = ::realpath(file_name, nullptr);
  std::string real = resolved != nullptr ? resolved : file_name;
  std::free(resolved);  // NOLINT(cppcoreguidelines-no-malloc): realpath allocates
  for (const std::string& name : {std::string(file_name), real}) {
    std::size_t slash = name.rfind('/');
    std::string folder = slash == std::string::npos ? std::string() : name.substr(0, slash + 1);
    std::string hidden = folder;
    hidden.append(".debug/").append(link);
    if (!is_plain_or_absent(folder + link) || !is_plain_or_absent(hidden)) return false;
  }
  return true;
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
