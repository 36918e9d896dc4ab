// Child: forks. The child waits at a gate (it reads a pipe), and then executes the program.
#include "cli/host/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "cli/host/own_process.h"

namespace labelscope::cli {
namespace {

[[noreturn]] void run(const std::vector<char*>& arguments, int gate, int report,
                      const Signals* signals) {
  char go = 0;
  if (::read(gate, &go, 1) != 1) _exit(0);  // labelscope gave up before the start
  if (signals != nullptr) signals->restore();
  execvp(arguments[0], arguments.data());
  int failed = errno;
  if (::write(report, &failed, sizeof failed) < 0) _exit(126);
  _exit(127);
}

void redirect(const Child::Output& output) {
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) ::close(STDIN_FILENO);
  // Neither number is one of the two, which occupy_standard_streams() has taken.
  ::dup2(output.stdout_fd, STDOUT_FILENO);
  ::dup2(output.stderr_fd, STDERR_FILENO);
}

}  // namespace

std::string program_path(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/bin:/usr/bin" : path;
  while (true) {
    const std::size_t end = folders.find(':');
    std::string file(folders.substr(0, end));
    file += (file.empty() ? "./" : "/") + command;
    if (::access(file.c_str(), X_OK) == 0) return file;
    if (end == std::string_view::npos) return command;
    folders.remove_prefix(end + 1);
  }
}

UniqueFd open_program(const std::string& command) {
  // If it is a pipe, opening it must not wait for a writer.
  return UniqueFd(::open(program_path(command).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

Result<Child> Child::start(const std::vector<std::string>& command, const Signals* signals,
                           IfOrphaned if_orphaned, const std::optional<Output>& output) {
  int gate[2];
  int report[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd gate_read(gate[0]);
  UniqueFd gate_write(gate[1]);
  if (::pipe2(report, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd report_read(report[0]);
  UniqueFd report_write(report[1]);
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: exec takes char*
  arguments.push_back(nullptr);
  pid_t pid = ::fork();
  if (pid < 0) return system_error(errno, "starting " + command.front());
  if (pid == 0) {
    Precedence::own().renounce();
    restore_file_limit();
    // If labelscope has died before this call, no signal comes. But then the gate never opens.
    if (if_orphaned == IfOrphaned::kIsKilled) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    gate_write.reset();
    if (output) redirect(*output);
    run(arguments, gate_read.get(), report_write.get(), signals);
  }
  return Child(Pid{pid}, std::move(gate_write), std::move(report_read));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, Pid{0})),
      gate_(std::move(other.gate_)),
      report_(std::move(other.report_)),
      status_(other.status_) {}

Child::~Child() {
  if (pid_ == Pid{0} || status_ || !gate_.valid()) return;
  gate_.reset();  // the child reads the end of the pipe and exits
  ::waitpid(raw(pid_), nullptr, 0);
}

int Child::release() {
  char go = 1;
  ssize_t sent = ::write(gate_.get(), &go, 1);
  gate_.reset();
  if (sent != 1) return EIO;
  int failed = 0;
  ssize_t got = 0;
  do {
    got = ::read(report_.get(), &failed, sizeof failed);
  } while (got < 0 && errno == EINTR);
  report_.reset();
  return got == static_cast<ssize_t>(sizeof failed) ? failed : 0;
}

std::optional<int> Child::ended() {
  int status = 0;
  rusage used{};
  const bool news = !status_ && ::wait4(raw(pid_), &status, WNOHANG, &used) == raw(pid_);
  // wait4() also returns the stops of a traced child.
  if (news && !WIFSTOPPED(status)) {
    status_ = status;
    auto ns = [](const timeval& time) {
      return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
             static_cast<std::uint64_t>(time.tv_usec) * 1'000;
    };
    time_ns_ = ns(used.ru_utime) + ns(used.ru_stime);
  }
  return status_;
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace labelscope::cli
