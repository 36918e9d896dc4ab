// labelscope: parses, dispatches, and reports unexpected failures.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <variant>

#include "cli/commands.h"
#include "cli/host/exit_status.h"
#include "cli/host/own_process.h"
#include "cli/host/rights.h"
#include "cli/host/static_program.h"
#include "cli/options/command_line.h"
#include "cli/text/text.h"
#include "cli/worker_tasks.h"

namespace {

using namespace labelscope::cli;

// If one of the three standard streams is closed, the next opened file would get its number, and a
// message or a table would be written into a profile. So it is opened here in the wrong direction,
// and using it still is an error.
void occupy_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// This must not allocate memory.
int out_of_memory() {
  rlimit space{};
  const bool limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  if (limited) {
    std::fprintf(stderr,
                 "labelscope: out of memory: its address space may have %llu MiB at most; ulimit "
                 "-v unlimited lifts that\n",
                 static_cast<unsigned long long>(space.rlim_cur >> 20));
  } else {
    std::fputs("labelscope: out of memory: a shorter recording or a lower -F needs less\n", stderr);
  }
  return kExitRuntimeError;
}

// Some threads are needed for the whole: one ends labelscope where the target's memory hangs.
int without_a_thread() {
  std::fputs(
      "labelscope: cannot start a thread: there is no memory for its stack (ulimit -v), or "
      "the user or the cgroup has as many threads as it may have (ulimit -u, pids.max)\n",
      stderr);
  return kExitRuntimeError;
}

}  // namespace

int main(int argc, char** argv) {
  if (is_worker(argc, argv)) return worker_main(argv, kWorkerTasks);
  if (::getuid() != ::geteuid()) {
    // Its user would read and write files as another one.
    std::fputs("labelscope: it must not be set-user-ID: sudo, or setcap (docs/security.md)\n",
               stderr);
    return kExitPermission;
  }
  Precedence::own().take();
  occupy_standard_streams();
  survive_file_limit();
  prepare_libc();
  try {
    // Options name files, which are read at once; completion reads recordings.
    auto parsed = [&] {
      const UsersOwnRights own;
      return parse_command_line(argc, argv);
    }();
    if (const auto* end = std::get_if<ParseEnd>(&parsed)) {
      std::fputs(end->output.c_str(), stdout);
      std::fputs(end->error.c_str(), stderr);
      const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
      if (!written) std::fprintf(stderr, "labelscope: %s\n", cannot_write("stdout", errno).c_str());
      return written ? end->status : kExitRuntimeError;
    }
    return std::visit(
        [](const auto& options) {
          log::open(options.messages.log_level);
          return run(options);
        },
        std::get<Options>(parsed));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) return without_a_thread();
    std::fprintf(stderr, "labelscope: internal error: %s\n", error.what());
    return kExitRuntimeError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "labelscope: internal error: %s\n", error.what());
    return kExitRuntimeError;
  }
}
