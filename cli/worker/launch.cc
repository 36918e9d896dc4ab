#include "cli/worker/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/worker/worker_main.h"

namespace labelscope::cli {
namespace {

// This is above the numbers of the worker's descriptors.
constexpr int kOutOfTheWay = 10;

struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int null;
  int socket;
};

// Linux before 5.9 lacks this call; there it is enough that executing closes all descriptors of
// labelscope.
bool close_others() {
  return ::syscall(SYS_close_range, kWorkerSocket + 1, ~0U, 0) == 0 || errno == ENOSYS;
}

// Runs in the memory of labelscope until it executes, so it makes only system calls.
[[noreturn]] void become_worker(const Start& start, volatile int& failed) {
  const bool placed = ::dup2(start.null, STDIN_FILENO) >= 0 && ::dup2(start.null, 1) >= 0 &&
                      ::dup2(start.null, 2) >= 0 && ::dup2(start.socket, kWorkerSocket) >= 0 &&
                      close_others() &&
                      // Otherwise file capabilities of labelscope would come back.
                      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      // Ctrl-C in the terminal is for labelscope.
                      ::setsid() >= 0;
  if (placed) ::execve(start.program, start.arguments, start.environment);
  failed = errno;
  _exit(127);
}

pid_t start_process(const Start& start, volatile int& failed) {
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): see launch.h
  if (pid == 0) become_worker(start, failed);
  return pid;
}

}  // namespace

Result<Launched> launch_worker(const char* program, std::uint64_t most_memory) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return system_error(errno, "no socket");
  }
  Launched launched{0, UniqueFd(sockets[0])};
  const UniqueFd given(sockets[1]);
  const UniqueFd theirs(::fcntl(given.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  const UniqueFd opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd null(::fcntl(opened.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  if (!theirs.valid() || !null.valid()) return system_error(errno, "no descriptor");

  std::string name = "labelscope";
  std::string argument(kWorkerArgument);
  std::string memory = std::to_string(most_memory);
  std::array<char*, 4> arguments{name.data(), argument.data(), memory.data(), nullptr};
  // It may need this to find libraries in unusual folders.
  std::vector<char*> environment;
  std::string libraries = "LD_LIBRARY_PATH=";
  if (const char* folders = std::getenv("LD_LIBRARY_PATH")) {  // NOLINT(concurrency-mt-unsafe)
    libraries += folders;
    environment.push_back(libraries.data());
  }
  environment.push_back(nullptr);
  volatile int failed = 0;
  launched.pid = start_process(
      {program, arguments.data(), environment.data(), null.get(), theirs.get()}, failed);
  if (launched.pid < 0) return system_error(errno, "no process");
  if (failed != 0) {
    ::waitpid(launched.pid, nullptr, 0);
    return system_error(failed, std::string("executing ") + program);
  }
  return launched;
}

Result<Launched> launch_own_worker(std::uint64_t most_memory) {
  return launch_worker("/proc/self/exe", most_memory);
}

}  // namespace labelscope::cli
