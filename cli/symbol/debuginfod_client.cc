#include "cli/symbol/debuginfod_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "cli/host/child.h"
#include "cli/host/static_program.h"

namespace labelscope::cli {
namespace {

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

int ask_by_library(Download& download) {
  Client* client = api()->begin();
  if (client == nullptr) return -ENOMEM;
  api()->set_user_data(client, &download);
  api()->set_progress(client, on_progress);
  // A length of 0 means that the build ID is in hexadecimal.
  const int fd = api()->find(
      client, reinterpret_cast<const unsigned char*>(download.build_id.c_str()), 0, nullptr);
  api()->end(client);
  return fd;
}

constexpr const char* kCommand = "debuginfod-find";
// The command says this before the reason, which is the text of an errno.
constexpr std::string_view kFailed = "Server query failed: ";
constexpr int kBetweenLooksMs = 50;
// A path has no more bytes, nor does anybody read more of what a command complains about.
constexpr std::size_t kMostOutput = 8192;

struct Pipe {
  UniqueFd from;
  UniqueFd to;
  static Pipe open() {
    std::array<int, 2> ends{-1, -1};
    static_cast<void>(::pipe2(ends.data(), O_CLOEXEC));
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
};

// Takes what there is. At its end the descriptor is closed.
void read_some(UniqueFd& from, std::string& text) {
  std::array<char, 1024> part{};
  const ssize_t count = ::read(from.get(), part.data(), part.size());
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) return from.reset(-1);
  if (text.size() < kMostOutput) text.append(part.data(), static_cast<std::size_t>(count));
}

// Reads both until they end, or until the caller has given up.
void read_all(UniqueFd& out, std::string& said, UniqueFd& err, std::string& complaint,
              const std::atomic<bool>& given_up) {
  while (!given_up && (out.valid() || err.valid())) {
    // A negative number is left out.
    std::array<pollfd, 2> ready{pollfd{out.valid() ? out.get() : -1, POLLIN, 0},
                                pollfd{err.valid() ? err.get() : -1, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), kBetweenLooksMs) <= 0) continue;
    if (ready[0].revents != 0) read_some(out, said);
    if (ready[1].revents != 0) read_some(err, complaint);
  }
}

// Waits for the end of the command, which is killed, with all that it has started, once the caller
// gives up. Returns whether it has succeeded.
bool wait_for(Child& command, const std::atomic<bool>& given_up) {
  while (!command.ended()) {
    if (given_up) ::kill(-raw(command.pid()), SIGKILL);
    // Where nobody may wait for children, they vanish.
    if (::kill(raw(command.pid()), 0) != 0 && errno == ESRCH) return false;
    ::usleep(kBetweenLooksMs * 1000);
  }
  return WIFEXITED(*command.ended()) && WEXITSTATUS(*command.ended()) == 0;
}

int error_named(std::string_view text) {
  for (int error = 1; error < 134; ++error) {
    const char* words = ::strerrordesc_np(error);
    if (words != nullptr && text.starts_with(words)) return error;
  }
  return EIO;
}

int ask_by_command(Download& download) {
  Pipe out = Pipe::open();
  Pipe err = Pipe::open();
  if (!out.to.valid() || !err.to.valid()) return -EMFILE;
  auto command = Child::start({program_path(kCommand), "debuginfo", download.build_id}, nullptr,
                              Child::IfOrphaned::kIsKilled,
                              Child::Output{out.to.get(), err.to.get()});
  if (!command) return -EAGAIN;
  out.to.reset(-1);
  err.to.reset(-1);
  if (const int error = command->release(); error != 0) return -error;
  std::string said;
  std::string complaint;
  read_all(out.from, said, err.from, complaint, download.given_up);
  const bool succeeded = wait_for(*command, download.given_up);
  if (download.given_up) return -EINTR;
  const std::string path = said.substr(0, said.find('\n'));
  if (succeeded && path.starts_with('/')) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return file >= 0 ? file : -errno;
  }
  if (const auto at = complaint.find(kFailed); at != std::string::npos) {
    return -error_named(std::string_view(complaint).substr(at + kFailed.size()));
  }
  download.problem = std::string(kCommand) + " says: " +
                     (complaint.empty() ? said : complaint.substr(0, complaint.find('\n')));
  return -EIO;
}

}  // namespace

std::string missing_for_debuginfod() {
  if (is_static_program()) {
    return program_path(kCommand) == kCommand ? "the command debuginfod-find" : "";
  }
  return api() == nullptr ? "libdebuginfod.so.1" : "";
}

int ask_debuginfod(Download& download) {
  return is_static_program() ? ask_by_command(download) : ask_by_library(download);
}

}  // namespace labelscope::cli
