// A target is a process to be read, alive or dead (a core file): what the planner and the walk need
// of it.
#pragma once

#include <atomic>
#include <cstdint>
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
  // Code that the process has copied out of a file, to the same addresses, has that file.
  virtual Result<std::vector<Mapping>> mappings() const = 0;
  // Returns the same without a copy, for as long as the target lives; null if it does not keep
  // them, or if there are none.
  virtual const std::vector<Mapping>* kept_mappings() const { return nullptr; }
  // Opens the file behind a mapping: the very file that is mapped, even if its name now leads to
  // another.
  virtual Result<UniqueFd> open_file(const Mapping& mapping) const = 0;
  // Opens the folder where the paths of the process begin (O_PATH), if that is known.
  virtual Result<UniqueFd> open_root() const;
  // Returns the times of the file behind a mapping, without opening it if possible, or an error if
  // they are not known.
  virtual Result<FileTimes> file_times(const Mapping& mapping) const;
  // Does both. The times are from before anything of the file was read, or nothing if they are not
  // known.
  struct OpenedFile {
    UniqueFd file;
    std::optional<FileTimes> times;
  };
  virtual Result<OpenedFile> open_with_times(const Mapping& mapping) const;
  virtual const MemorySource& memory() const = 0;
  // Returns the runtime address of the main executable's program headers (AT_PHDR), if it is known.
  virtual std::optional<Address> program_headers_address() const = 0;
  // Returns where the first argument of the process begins, which many servers overwrite with a
  // title, if that is known.
  virtual std::optional<Address> title_address() const { return std::nullopt; }
  // Returns false for a core file: what cannot be read there cannot be read later either.
  virtual bool is_alive() const { return true; }
  // Returns the process that this one was forked from and whose program it still runs: what it
  // published about itself before the fork holds for both. Returns null if there is none, or it has
  // ended.
  virtual std::unique_ptr<Target> forked_from() const { return nullptr; }
};

// A process of this machine, read through /proc. Files are opened through /proc/PID/map_files, or
// through /proc/PID/root if that needs a capability that labelscope lacks, so that containers and
// replaced files work.
class LiveProcess final : public Target {
 public:
  // Fails with kVanished if there is no such process (or only a zombie), with kNotFound if the
  // number is that of another thread of a process, and with kPermission if labelscope may not look
  // at it. If its first thread has ended and others run on, the process is seen through one of
  // these, and through another one when that has ended.
  static Result<std::unique_ptr<LiveProcess>> open(Pid pid);

  Result<std::vector<Mapping>> mappings() const override;
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  Result<UniqueFd> open_root() const override;
  Result<FileTimes> file_times(const Mapping& mapping) const override;
  Result<OpenedFile> open_with_times(const Mapping& mapping) const override;
  const MemorySource& memory() const override { return *memory_; }
  std::optional<Address> program_headers_address() const override;
  std::optional<Address> title_address() const override;
  std::unique_ptr<Target> forked_from() const override { return fork_parent(); }
  // The same, as what it is.
  std::unique_ptr<LiveProcess> fork_parent() const;
  // Returns the number that gettid() returns to one of its threads. It is another number if the
  // process is in a pid namespace of its own, as in a container, and 0 if it is not known.
  Tid number_inside(Tid tid) const;
  // Returns the name of one of its threads, at most 15 bytes; nothing if the thread has ended.
  std::string thread_name(Tid tid) const;
  // Returns the first instruction of the program itself. The loader has done its work by then.
  std::optional<Address> entry_point() const;

  Pid pid() const { return pid_; }
  // Returns the thread through whose /proc folder the process is seen now, mostly its first thread.
  Tid seen_through() const { return door_; }
  // Returns "/proc/TID/name" of that thread, for what is the same in all threads (maps, auxv,
  // root).
  std::string proc_path(const char* name) const;
  // Returns the content of that file.
  Result<std::string> read_proc(const char* name) const;
  // Returns the threads that exist now, in the kernel's order.
  Result<std::vector<Tid>> threads() const;
  // Returns the process's name, at most 15 bytes; nothing if the process is gone.
  std::string comm() const;
  // Returns its arguments with spaces between them, the first 4,096 bytes; nothing if it has none.
  // They are bytes.
  std::string command_line() const;
  // Returns bytes that identify the program that it runs now, and this run of it. A forked child
  // has the same. They are empty if the process has ended.
  std::string program() const;
  // Returns whether the process has executed another program since open(), or has ended. Then
  // nothing that was learned of its memory is true any more.
  bool has_replaced_program() const { return program() != program_; }

 private:
  class Memory;
  LiveProcess(Pid pid, Tid door);
  std::optional<Address> auxiliary_value(std::uint64_t type) const;
  // Looks for another thread to see it through. Returns false if there is none, or if the current
  // one has not ended.
  bool find_other_door() const;

  Pid pid_;
  mutable std::atomic<Tid> door_;  // every reader may find that it has ended
  std::string program_;
  bool counts_as_we_do_ = true;  // true if it is in labelscope's own pid namespace
  std::unique_ptr<MemorySource> memory_;
};

}  // namespace labelscope
