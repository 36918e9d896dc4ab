// A MemorySource gives target memory: of a live process, a stopped thread, a core file, or a test.
// Everything that reads a target uses this interface, so that the same walk serves them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "labelscope/elf_types.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

// Returns the bits of a pointer that are an address. On aarch64 the program may use the top byte
// for itself (top-byte ignore: hardware-assisted sanitizers, memory tagging).
constexpr std::uint64_t address_bits(Machine machine) {
  return machine == Machine::kAarch64 ? (1ULL << 56) - 1 : UINT64_MAX;
}

#if defined(__aarch64__)
constexpr Machine kHostMachine = Machine::kAarch64;
#else
constexpr Machine kHostMachine = Machine::kX86_64;
#endif

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Fills all of `out` from `address`, or fails with kUnreadable (some byte is not there),
  // kVanished or kPermission. Several threads may call it.
  virtual Status read(Address address, std::span<std::byte> out) const = 0;
  // Returns the address that a pointer of the target leads to. That depends on the target's
  // processor, which is this machine's unless the target is a core file of another.
  virtual Address untagged(Address pointer) const { return pointer & address_bits(kHostMachine); }
};

// Reads one fixed-size value. T must be safe for any bit pattern.
template <class T>
Result<T> read_value(const MemorySource& memory, Address address) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  Status status = memory.read(address, std::as_writable_bytes(std::span(&value, 1)));
  if (!status) return std::move(status).error();
  return value;
}

// Uses process_vm_readv on a live process, and so sees threads in the middle of writes unless they
// are stopped.
std::unique_ptr<MemorySource> open_process_memory(Pid pid);

}  // namespace labelscope
