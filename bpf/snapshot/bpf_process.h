// BpfProcess reads a process for which the kernel refuses ptrace, /proc or process_vm_readv (yama,
// another user's process, one that is not dumpable). BPF iterators answer instead; they need
// CAP_BPF and CAP_PERFMON.
//
//   what            asked first           and if that is refused
//   mappings        /proc/PID/maps        an iterator over the mappings
//   files           LiveProcess           by name, in labelscope's own root, if it is the same file
//   memory          an iterator           -
//   AT_PHDR         /proc/PID/auxv        an iterator
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/target.h"

namespace labelscope {

class TaskIterators;

class BpfProcess final : public Target {
 public:
  // The errors are those of LiveProcess::open() and TaskIterators::load().
  static Result<std::unique_ptr<BpfProcess>> open(Pid pid);
  ~BpfProcess() override;

  Result<std::vector<Mapping>> mappings() const override;
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  Result<UniqueFd> open_root() const override { return live_->open_root(); }
  // Each read runs an iterator, which takes some 30 us. The threads run meanwhile, so a read may
  // see half of a write. It also fails with kVanished if the process has executed another program
  // since open().
  const MemorySource& memory() const override { return *memory_; }
  std::optional<Address> program_headers_address() const override;
  std::optional<Address> title_address() const override { return live_->title_address(); }
  std::unique_ptr<Target> forked_from() const override { return live_->forked_from(); }

  Pid pid() const { return live_->pid(); }
  std::string comm() const { return live_->comm(); }
  TaskIterators& iterators() const { return *iterators_; }
  // The process as it was when it was opened.
  const LiveProcess& live() const { return *live_; }

 private:
  BpfProcess(std::unique_ptr<LiveProcess> live, std::unique_ptr<TaskIterators> iterators);
  Result<UniqueFd> open_by_name(const Mapping& mapping) const;
  Status require_same(const Mapping& mapping, int file) const;

  std::unique_ptr<LiveProcess> live_;
  std::unique_ptr<TaskIterators> iterators_;
  std::unique_ptr<MemorySource> memory_;
};

}  // namespace labelscope
