// The worker's main program with other tasks. Each tries something that no worker may do, and
// reports whether it succeeded. A refusal is a failed call, or the end of the process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "cli/worker/worker_main.h"

using namespace labelscope;       // NOLINT(google-build-using-namespace): a program of this project
using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): the same

namespace {

// Returns the process ID of labelscope (the test), which the request holds.
pid_t labelscope_of(const Message& request) { return std::stoi(request.body); }

template <class Attempt>
Answer attempt(Attempt attempt) {
  return [attempt](const Message& request, Conversation& conversation) {
    errno = 0;
    const bool could = attempt(request);
    conversation.reply(could ? "could" : std::string("refused: ") + std::strerror(errno));
    return Status();
  };
}

Answer open_file() {
  return attempt([](const Message&) { return ::open("/etc/passwd", O_RDONLY) >= 0; });
}
Answer open_file_by_number() {
  return attempt([](const Message&) {
    return ::syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR) >= 0;
  });
}
Answer write_file() {
  return attempt([](const Message&) { return ::open("/tmp/ls", O_WRONLY | O_CREAT, 0600) >= 0; });
}
Answer signal_labelscope() {
  return attempt([](const Message& request) { return ::kill(labelscope_of(request), 0) == 0; });
}
Answer signal_thread() {
  return attempt([](const Message& request) {
    const pid_t pid = labelscope_of(request);
    return ::syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0;
  });
}
Answer trace() {
  return attempt([](const Message& request) {
    return ::ptrace(PTRACE_SEIZE, labelscope_of(request), nullptr, nullptr) == 0;
  });
}
Answer read_memory() {
  return attempt([](const Message& request) {
    char byte = 0;
    iovec here{&byte, 1};
    iovec there{&byte, 1};
    return ::process_vm_readv(labelscope_of(request), &here, 1, &there, 1, 0) == 1;
  });
}
Answer reach_network() {
  return attempt([](const Message&) { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; });
}
Answer reach_neighbours() {
  return attempt([](const Message&) { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; });
}
Answer execute() {
  return attempt([](const Message&) {
    ::execl("/bin/true", "true", nullptr);
    return false;
  });
}
Answer fork_process() {
  return attempt([](const Message&) { return ::fork() >= 0; });
}
Answer map_code() {
  return attempt([](const Message&) {
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0) != MAP_FAILED;
  });
}
Answer protect_code() {
  return attempt([](const Message&) {
    void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
  });
}
Answer raise_limit() {
  return attempt([](const Message&) {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    return ::setrlimit(RLIMIT_AS, &all) == 0;
  });
}
Answer become_root() {
  return attempt([](const Message&) { return ::setuid(0) == 0; });
}
// The nice value of all processes of its user, or of its process group.
Answer renice_user() {
  return attempt([](const Message&) { return ::setpriority(PRIO_USER, 0, 19) == 0; });
}
Answer renice_group() {
  return attempt([](const Message&) { return ::setpriority(PRIO_PGRP, 0, 19) == 0; });
}
Answer ask_nice_of_user() {
  return attempt([](const Message&) { return ::getpriority(PRIO_USER, 0) != -1 || errno == 0; });
}
Answer renice_itself() {
  return attempt([](const Message&) { return ::setpriority(PRIO_PROCESS, 0, 19) == 0; });
}
// These are what a worker must be able to do: read what it was given, and get memory.
Answer work() {
  return attempt([](const Message& request) {
    char byte = 0;
    return request.files.size() == 1 && ::pread(request.files[0].get(), &byte, 1, 0) == 1 &&
           !std::string(1 << 20, 'x').empty();
  });
}
Answer eat_memory() {
  return attempt([](const Message&) {
    for (std::string all;;) all.append(1 << 20, 'x');
    return true;
  });
}

constexpr WorkerTask kTasks[] = {
    {"open_file", open_file},
    {"open_file_by_number", open_file_by_number},
    {"write_file", write_file},
    {"signal_labelscope", signal_labelscope},
    {"signal_thread", signal_thread},
    {"trace", trace},
    {"read_memory", read_memory},
    {"reach_network", reach_network},
    {"reach_neighbours", reach_neighbours},
    {"execute", execute},
    {"fork_process", fork_process},
    {"map_code", map_code},
    {"protect_code", protect_code},
    {"raise_limit", raise_limit},
    {"become_root", become_root},
    {"renice_user", renice_user},
    {"renice_group", renice_group},
    {"ask_nice_of_user", ask_nice_of_user},
    {"renice_itself", renice_itself},
    {"work", work},
    {"eat_memory", eat_memory},
};

}  // namespace

int main(int argc, char** argv) { return is_worker(argc, argv) ? worker_main(argv, kTasks) : 2; }
