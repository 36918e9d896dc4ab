// This is the memory of a dead process: what the core file has of it, and the rest from the
// process's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/core_layout.h"
#include "elf/loaded_file.h"
#include "labelscope/memory.h"

namespace labelscope {

class ProcessFiles;

// This has only the dumped memory. The file and the segments must outlive it.
class DumpedMemory final : public MemorySource {
 public:
  DumpedMemory(const LoadedFile& core, const std::vector<CoreSegment>& segments, Machine machine)
      : core_(core), segments_(segments), machine_(machine) {}

  Status read(Address address, std::span<std::byte> out) const override;
  Address untagged(Address pointer) const override { return pointer & address_bits(machine_); }

  // Returns how many bytes from `address` on were dumped, within one segment; 0 if this byte was
  // not.
  std::uint64_t dumped_from(Address address) const;
  // Returns the first address above `address` that was dumped, or the last address if there is
  // none.
  Address next_dumped(Address address) const;

 private:
  const LoadedFile& core_;
  const std::vector<CoreSegment>& segments_;
  Machine machine_;
};

// This has all memory. A dumped byte is preferred to the file, because the process may have changed
// it.
class CoreMemory final : public MemorySource {
 public:
  CoreMemory(const DumpedMemory& dumped, const ProcessFiles& files)
      : dumped_(dumped), files_(files) {}

  Status read(Address address, std::span<std::byte> out) const override;
  Address untagged(Address pointer) const override { return dumped_.untagged(pointer); }

 private:
  Status read_file(Address address, std::span<std::byte> out) const;

  const DumpedMemory& dumped_;
  const ProcessFiles& files_;
};

}  // namespace labelscope
