#include "process/running_program.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "process/proc_fs.h"

namespace labelscope {

namespace {

// In a vector of 32 bits, the value of the first entry is in the upper half of what is read as its
// type.
bool is_of_32_bits(std::string_view vector) {
  Elf64_auxv_t first{};
  if (vector.size() < sizeof first) return false;
  std::memcpy(&first, vector.data(), sizeof first);
  return first.a_type >> 32 != 0;
}

}  // namespace

// An exec shows its new, empty vector before it fills it, and the old program's memory is gone
// then. That is no reason to give up such a process: a caller that asks again soon gets an answer.
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
    if (is_of_32_bits(*bytes)) {
      return Error{ErrorCode::kUnsupported, name + " runs a program of 32 bits"};
    }
    return Error{ErrorCode::kVanished, name + " runs no program, or is only starting it"};
  }
  if (Status status = process.memory().read(program.address_, program.random_); !status) {
    auto again = process.read_proc("auxv");
    if (again && *again == *bytes) return std::move(status).error();
    return Error{ErrorCode::kVanished, name + " executes another program"};
  }
  return program;
}

bool RunningProgram::runs_in(const MemorySource& memory) const {
  std::array<std::byte, 16> now{};
  return memory.read(address_, now) && now == random_;
}

}  // namespace labelscope
