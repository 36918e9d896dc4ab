// These functions read whole files of /proc (whose size is not known beforehand), and the content
// of some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/kernel_version.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

// Reads the whole file, or its first `most` bytes: some files are as long as a process wants them
// to be.
Result<std::string> read_proc_file(const std::string& path, std::size_t most = SIZE_MAX);
// Reads it piece by piece, until it ends or `take` fails.
Status read_proc_pieces(const std::string& path,
                        const std::function<Status(std::string_view)>& take);

// Returns the only line of a file, such as comm, without its newline; nothing if it cannot be read.
std::string read_proc_line(const std::string& path);
// Returns a path like "/proc/17/stat"; threads are found there, too.
std::string proc_path(Tid tid, const char* name);
// Returns the value of one entry of an auxiliary vector (AT_PHDR, ...).
std::optional<std::uint64_t> find_auxiliary(std::span<const std::byte> vector, std::uint64_t type);

// Returns the value of one line of /proc/PID/status; nothing if there is no such line.
std::string_view status_field(std::string_view status, std::string_view name);

// The content of /proc/PID/stat, or /proc/PID/task/TID/stat.
struct ThreadStat {
  std::string name;  // bytes
  char state = '?';
  std::uint64_t flags = 0;  // PF_* of the kernel's include/linux/sched.h
  // The address at which the arguments of the process begin (mm->arg_start). It is 0 for a reader
  // without the right to trace the process, and for a kernel thread, which has none.
  std::uint64_t arguments = 0;
  std::uint64_t threads = 0;  // of its process; 0 for some that have ended
  // A thread that ends first gives up its memory and files; its state changes later (PF_EXITING).
  bool is_ending() const { return state == 'Z' || state == 'X' || (flags & 0x4) != 0; }
  bool of_kernel() const { return (flags & 0x00200000) != 0; }  // PF_KTHREAD
  // Whether it is a thread of io_uring, which has no user part.
  bool is_worker() const { return (flags & worker_flags()) != 0; }
};
std::optional<ThreadStat> parse_thread_stat(std::string_view text);
// Returns nothing if the thread is gone. For "/proc/17/stat" the kernel adds up the times of all
// threads of the process, so this takes longer the more there are.
std::optional<ThreadStat> read_thread_stat(const std::string& path);
// Reads of this thread alone.
std::optional<ThreadStat> read_thread_stat(Tid tid);

// One line of /proc/PID/mountinfo: "ID PARENT DEVICE ROOT FOLDER ... - TYPE SOURCE OPTIONS"
// (proc(5)).
struct Mount {
  std::string_view id;
  std::string_view device;   // "8:1"
  std::string_view root;     // what of the file system is mounted: "/", all of it
  std::string_view folder;   // with blanks as \\040
  std::string_view type;     // "ext4"
  std::string_view options;  // of the file system: of a cgroup of version 1, with its controllers
};
// Calls `use` with each line of the text of such a file.
void for_each_mount(std::string_view mountinfo, const std::function<void(const Mount&)>& use);

inline bool has_ended(char state) { return state == 'Z' || state == 'X'; }

}  // namespace labelscope
