// A process to be read, alive or (as a core file) dead: what the planner and the walk need of it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/mapping.h"
#include "labelscope/memory.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class Target {
 public:
  virtual ~Target() = default;
  virtual Result<std::vector<Mapping>> mappings() const = 0;
  // The file behind a mapping: the very one that is mapped, even if its name now leads to another.
  virtual Result<UniqueFd> open_file(const Mapping& mapping) const = 0;
  // Of the file behind a mapping, without opening it where that can be. An error: not known.
  virtual Result<FileTimes> file_times(const Mapping& mapping) const;
  virtual const MemorySource& memory() const = 0;
  // Runtime address of the main executable's program headers (AT_PHDR), where it can be told.
  virtual std::optional<Address> program_headers_address() const = 0;
  // False for a core file: what cannot be read there cannot be read later either.
  virtual bool is_alive() const { return true; }
  // The process that this one was forked from and whose program it still runs: what it has said of
  // itself before, it said of both. Null if there is none, or it has ended.
  virtual std::unique_ptr<Target> forked_from() const { return nullptr; }
};

// A process of this machine, through /proc. Files are opened through /proc/PID/map_files, or
// /proc/PID/root where that needs a capability that we lack, so that containers and replaced files
// work.
class LiveProcess final : public Target {
 public:
  // kVanished: no such process (or a zombie); kNotFound: the number is that of another thread of a
  // process; kPermission: it may not be looked at. Where its first thread has ended and others run
  // on, the process is seen through one of these, and through another one when that has ended.
  static Result<std::unique_ptr<LiveProcess>> open(Pid pid);

  Result<std::vector<Mapping>> mappings() const override;
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  Result<FileTimes> file_times(const Mapping& mapping) const override;
  const MemorySource& memory() const override { return *memory_; }
  std::optional<Address> program_headers_address() const override;
  std::unique_ptr<Target> forked_from() const override { return fork_parent(); }
  // The same, as what it is.
  std::unique_ptr<LiveProcess> fork_parent() const;
  // The number that one of its threads has for itself (gettid): another one if the process is in a
  // pid namespace of its own, as in a container. 0: not known.
  Tid number_inside(Tid tid) const;
  // The first instruction of the program itself. The loader has done its work by then.
  std::optional<Address> entry_point() const;

  Pid pid() const { return pid_; }
  // The thread through whose /proc folder we see the process now. Mostly its first thread.
  Tid seen_through() const { return door_; }
  // "/proc/TID/name" of that thread, for what is the same in all threads (maps, auxv, root).
  std::string proc_path(const char* name) const;
  // What is in that file.
  Result<std::string> read_proc(const char* name) const;
  // Threads that exist now, in the kernel's order.
  Result<std::vector<Tid>> threads() const;
  // The process's name, 15 bytes at most; empty if it is gone.
  std::string comm() const;
  // Its arguments with spaces between them, the first 4,096 bytes; empty where it has none. Bytes.
  std::string command_line() const;
  // Identifies the program that it runs now, and this run of it: bytes to compare. A forked child
  // has the same. Empty if the process has ended.
  std::string program() const;
  // Whether the process has executed another program since open(), or has ended. Then nothing that
  // was learned of its memory is true any more.
  bool has_replaced_program() const { return program() != program_; }

 private:
  class Memory;
  LiveProcess(Pid pid, Tid door);
  std::optional<Address> auxiliary_value(std::uint64_t type) const;
  // Looks for another thread to see it through. False: there is none, or the one that there is
  // has not ended.
  bool find_other_door() const;

  Pid pid_;
  mutable std::atomic<Tid> door_;  // every reader may find that it has ended
  std::string program_;
  bool counts_as_we_do_ = true;  // it is in our pid namespace
  std::unique_ptr<MemorySource> memory_;
};

}  // namespace labelscope
