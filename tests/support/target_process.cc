// Starts a program under test, receives its output and ends it. The output is trusted like the test
// itself, but a line that is not JSON must fail the test with a sentence, and no wait may last for
// ever.
#include "support/target_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace labelscope::test {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

// A target that does not end by itself when its stdin closes is killed after this time.
constexpr milliseconds kGrace{1000};

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// Returns false after the deadline.
bool wait_readable(int fd, Clock::time_point deadline) {
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, remaining_ms(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

// Everything that allocates memory happens before the fork, since the test may have threads.
[[noreturn]] void run_child(char* const* argv, char* const* envp, int in, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  if (::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0) ::_exit(126);
  ::execve(argv[0], argv, envp);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Returns the test's environment, in which `added` replaces variables of the same name.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> result = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || other.rfind(name, 0) == 0;
    if (!replaced) result.push_back(text);
  }
  return result;
}

}  // namespace

Result<TargetProcess> TargetProcess::spawn(const TargetOptions& options) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return system_error(errno, "cannot make a pipe");
  UniqueFd in_read(in[0]);
  UniqueFd in_write(in[1]);
  if (::pipe2(out, O_CLOEXEC) != 0) return system_error(errno, "cannot make a pipe");
  UniqueFd out_read(out[0]);
  UniqueFd out_write(out[1]);

  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.program);
  std::vector<std::string> settings = merged_environment(options.environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(settings);
  const pid_t parent = ::getpid();
  // The thread sanitizer flushes buffers even at _exit, and the child would print this one's.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno, "cannot fork");
  if (child == 0) run_child(argv.data(), envp.data(), in_read.get(), out_write.get(), parent);

  TargetProcess target;
  target.pid_ = Pid{child};
  target.program_ = options.program;
  target.own_words_ = options.own_words;
  target.to_stdin_ = std::move(in_write);
  target.from_stdout_ = std::move(out_read);
  in_read.reset();
  out_write.reset();
  target.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!target.pidfd_.valid()) return system_error(errno, "cannot open a pidfd");
  Status ready = target.wait_ready(options.ready_timeout);
  if (!ready) return std::move(ready).error();
  return target;
}

TargetProcess::TargetProcess(TargetProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, Pid{})),
      pidfd_(std::move(other.pidfd_)),
      to_stdin_(std::move(other.to_stdin_)),
      from_stdout_(std::move(other.from_stdout_)),
      program_(std::move(other.program_)),
      own_words_(other.own_words_),
      pending_(std::move(other.pending_)),
      wait_status_(other.wait_status_),
      threads_(std::move(other.threads_)),
      lines_(std::move(other.lines_)) {}

TargetProcess& TargetProcess::operator=(TargetProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, Pid{});
  pidfd_ = std::move(other.pidfd_);
  to_stdin_ = std::move(other.to_stdin_);
  from_stdout_ = std::move(other.from_stdout_);
  program_ = std::move(other.program_);
  own_words_ = other.own_words_;
  pending_ = std::move(other.pending_);
  wait_status_ = other.wait_status_;
  threads_ = std::move(other.threads_);
  lines_ = std::move(other.lines_);
  return *this;
}

TargetProcess::~TargetProcess() { end(); }

void TargetProcess::end() {
  if (raw(pid_) == 0 || wait_status_) return;
  to_stdin_.reset();
  if (reap(pidfd_.valid() ? kGrace : milliseconds(0))) return;
  ::kill(raw(pid_), SIGKILL);
  int status = 0;
  while (::waitpid(raw(pid_), &status, 0) < 0 && errno == EINTR) {
  }
  wait_status_ = status;
}

bool TargetProcess::reap(milliseconds timeout) {
  if (wait_status_) return true;
  if (!pidfd_.valid() || !wait_readable(pidfd_.get(), Clock::now() + timeout)) return false;
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(raw(pid_), &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped != raw(pid_)) return false;
  wait_status_ = status;
  return true;
}

Status TargetProcess::send(std::string_view line) {
  std::string text(line);
  text.push_back('\n');
  // If the target is gone, this must be an error, not a SIGPIPE that ends the test.
  sigset_t pipe_signal;
  sigset_t before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  std::size_t done = 0;
  int failure = 0;
  while (done < text.size() && failure == 0) {
    const ssize_t n = ::write(to_stdin_.get(), text.data() + done, text.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  if (failure == EPIPE) {
    const timespec at_once{};
    ::sigtimedwait(&pipe_signal, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) return system_error(failure, "cannot write to the stdin of " + program_);
  return {};
}

Status TargetProcess::wait_ready(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  for (;;) {
    const std::size_t end_of_line = pending_.find('\n');
    if (end_of_line != std::string::npos) {
      const std::string line = pending_.substr(0, end_of_line);
      pending_.erase(0, end_of_line + 1);
      if (line == "ready") return {};
      Status accepted = accept_line(line);
      if (!accepted) return accepted;
      continue;
    }
    if (!wait_readable(from_stdout_.get(), deadline)) {
      return Error{ErrorCode::kLimit, program_ + " did not say ready in time"};
    }
    char buffer[4096];
    const ssize_t n = ::read(from_stdout_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "cannot read the output of " + program_);
    if (n == 0) return ended_early();
    pending_.append(buffer, static_cast<std::size_t>(n));
  }
}

Status TargetProcess::accept_line(const std::string& line) {
  const Error malformed{ErrorCode::kMalformed,
                        program_ + " printed a line that is no truth: " + line};
  json value = json::parse(line, nullptr, false);
  if (value.is_discarded() || !value.is_object()) return malformed;
  if (value.contains("tid") && !own_words_) {
    Result<TruthThread> thread = parse_truth_thread(value);
    if (!thread) return malformed;
    threads_.push_back(*std::move(thread));
  }
  lines_.push_back(std::move(value));
  return {};
}

Error TargetProcess::ended_early() {
  Error error{ErrorCode::kVanished, program_ + " ended before it was ready"};
  if (reap(kGrace)) {
    const int status = *wait_status_;
    error.context += WIFEXITED(status) ? ", exit status " + std::to_string(WEXITSTATUS(status))
                                       : ", signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) error.context += " (it may not exist)";
  }
  for (const json& line : lines_) {
    if (line.contains("cannot")) error.context += ": " + line["cannot"].dump();
  }
  return error;
}

Result<int> TargetProcess::finish(milliseconds timeout) {
  to_stdin_.reset();
  if (!reap(timeout)) return Error{ErrorCode::kLimit, program_ + " did not end in time"};
  return *wait_status_;
}

}  // namespace labelscope::test
