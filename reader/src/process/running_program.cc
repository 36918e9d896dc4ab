#include "process/running_program.h"

#include <elf.h>
#include <sys/auxv.h>

#include <span>
#include <string>

#include "process/proc_fs.h"

namespace labelscope {

Result<RunningProgram> RunningProgram::of(const LiveProcess& process) {
  const std::string name = "process " + std::to_string(raw(process.pid()));
  auto bytes = process.read_proc("auxv");
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kNotFound) return std::move(bytes).error();
    return Error{ErrorCode::kVanished, "no " + name};
  }
  RunningProgram program;
  program.address_ = find_auxiliary(std::as_bytes(std::span(*bytes)), AT_RANDOM).value_or(0);
  if (program.address_ == 0) {
    // So it is also while it ends.
    return Error{bytes->empty() ? ErrorCode::kVanished : ErrorCode::kUnsupported,
                 name + " runs no program, or none of 64 bits"};
  }
  if (Status status = process.memory().read(program.address_, program.random_); !status) {
    return std::move(status).error();
  }
  return program;
}

bool RunningProgram::runs_in(const MemorySource& memory) const {
  std::array<std::byte, 16> now{};
  return memory.read(address_, now) && now == random_;
}

}  // namespace labelscope
