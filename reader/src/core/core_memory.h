// The memory of a dead process: what the core file has of it, and the rest from the process's
// files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/core_layout.h"
#include "elf/loaded_file.h"
#include "labelscope/memory.h"

namespace labelscope {

class ProcessFiles;

// Only what was dumped. Refers to the file and the segments, which must outlive it.
class DumpedMemory final : public MemorySource {
 public:
  DumpedMemory(const LoadedFile& core, const std::vector<CoreSegment>& segments, Machine machine)
      : core_(core), segments_(segments), machine_(machine) {}

  Status read(Address address, std::span<std::byte> out) const override;
  Address untagged(Address pointer) const override { return pointer & address_bits(machine_); }

  // How many bytes from `address` on were dumped, in one segment; 0: this one was not.
  std::uint64_t dumped_from(Address address) const;
  // The first address above `address` of which that is not true; the last address if there is none.
  Address next_dumped(Address address) const;

 private:
  const LoadedFile& core_;
  const std::vector<CoreSegment>& segments_;
  Machine machine_;
};

// All of it. What was dumped counts, also where there is a file: the process may have changed it.
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
