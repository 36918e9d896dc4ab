#include "cli/step/thread_status.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace labelscope::cli {
namespace {

// A line of /proc/TID/status; empty if it is gone.
std::string status_line(Tid tid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(raw(tid)) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

bool is_there(Tid tid) { return !status_line(tid, "Tgid").empty(); }

bool has_handler(Tid tid, int signal) {
  const std::string caught = status_line(tid, "SigCgt");
  const std::uint64_t mask = caught.empty() ? 0 : std::strtoull(caught.c_str(), nullptr, 16);
  return signal > 0 && signal <= 64 && (mask >> (signal - 1) & 1) != 0;
}

bool belongs_to(Tid tid, Pid process) {
  const std::string group = status_line(tid, "Tgid");
  return !group.empty() && std::strtol(group.c_str(), nullptr, 10) == raw(process);
}

bool is_uninterruptible(Tid tid) {
  return status_line(tid, "State").find('D') != std::string::npos;
}

bool has_own_memory(Tid tid, Pid process) {
  return ::syscall(SYS_kcmp, raw(tid), raw(process), KCMP_VM, 0, 0) > 0;
}

}  // namespace labelscope::cli
