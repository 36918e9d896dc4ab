#include "program_image.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>
#include <string>

#include "proc_fs.h"

namespace labelscope {

Result<ProgramImage> ProgramImage::of(Pid pid, const MemorySource& memory) {
  const std::string path = "/proc/" + std::to_string(raw(pid)) + "/auxv";
  auto bytes = read_proc_file(path);
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kNotFound) return std::move(bytes).error();
    return Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
  }
  ProgramImage image;
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= bytes->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (entry.a_type == AT_RANDOM) image.address_ = entry.a_un.a_val;
  }
  if (image.address_ == 0) {
    // So it is also while it ends.
    return Error{bytes->empty() ? ErrorCode::kVanished : ErrorCode::kUnsupported,
                 "process " + std::to_string(raw(pid)) + " runs no program, or none of 64 bits"};
  }
  if (Status status = memory.read(image.address_, image.random_); !status) {
    return std::move(status).error();
  }
  return image;
}

bool ProgramImage::runs_in(const MemorySource& memory) const {
  std::array<std::byte, 16> now{};
  return memory.read(address_, now) && now == random_;
}

}  // namespace labelscope
