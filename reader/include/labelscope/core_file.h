// CoreFile is a core file as a target: memory, mappings and threads of a process as it died (or as
// gcore found it). Cores of either processor are read on either.
//
//   address --> core's PT_LOAD segment has it? -- yes --> bytes of the core
//                        | no: the kernel leaves out memory that is in files (coredump_filter)
//                        v
//               file that was mapped there (NT_FILE) ---> bytes of the file, if it is the right one
//
// A file is looked for at the path that the core has, under each sysroot; then by build ID, under
// <sysroot>/usr/lib/debug/.build-id and in the given directories. It must be the file that the
// process ran (by build ID, if the core has it). Otherwise it is refused.
//
// Sources: gABI chapter 5 (notes), the kernel's fs/binfmt_elf.c and include/uapi/linux/elf.h
// (NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE, NT_ARM_TLS).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/registers.h"
#include "labelscope/target.h"

namespace labelscope {

struct CoreOptions {
  std::string executable;             // of the process; if empty, the core's own name for it
  std::vector<std::string> sysroots;  // tried in order; if empty, "/"
  std::vector<std::string> file_directories;  // searched for files by name and by build ID
};

struct CoreThread {
  Tid tid{};
  std::string name;  // a core has only the process's name, which is that of its first thread
  // This is pr_cursig. The kernel gives every thread the signal that the process died of; the first
  // thread is the one that it hit.
  int signal = 0;
  std::optional<Address> thread_pointer;
  Registers registers;
};

// A file of the process that was not found, or is another file now, or cannot be proved to be the
// right one.
struct CoreFileProblem {
  std::string path;  // the core's name for it; empty if it is the list of files itself
  std::string build_id;
  std::string reason;
  // true if it is read, although nothing in the core proves that it is the right one
  bool used = false;
};

class CoreFile final : public Target {
 public:
  // Fails with kMalformed or kUnsupported if it is no core file, or one of another machine than
  // x86-64 and aarch64.
  static Result<std::unique_ptr<CoreFile>> open(const std::string& path,
                                                const CoreOptions& options);
  ~CoreFile() override;

  Result<std::vector<Mapping>> mappings() const override;
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  const MemorySource& memory() const override;
  std::optional<Address> program_headers_address() const override;
  bool is_alive() const override { return false; }

  Machine machine() const;
  Pid pid() const;
  std::string comm() const;          // at most 15 bytes; empty if the core does not have it
  std::string command_line() const;  // the first 80 bytes of it
  const std::vector<CoreThread>& threads() const;  // at least one; the thread that died is first
  // Returns the files that are missing or doubtful. The list grows when files are needed.
  std::vector<CoreFileProblem> problems() const;
  // Returns true if the core is shorter than its program headers require (a full disk, a size
  // limit).
  bool truncated() const;

 private:
  class Impl;
  explicit CoreFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace labelscope
