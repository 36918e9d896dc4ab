// Where target memory comes from: a live process, a stopped thread, a core file, or bytes made by a
// test. Everything that reads a target goes through this interface, so that the same walk serves
// them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "labelscope/elf_types.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

// The bits of a pointer that are an address: on aarch64 the top byte is the program's own
// (top-byte ignore: hardware-assisted sanitizers, memory tagging).
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
  // Fills all of `out` from `address`, or fails: kUnreadable (some byte is not there), kVanished,
  // kPermission. Safe to call from several threads.
  virtual Status read(Address address, std::span<std::byte> out) const = 0;
  // The address that a pointer of the target leads to. The target's processor decides, which is
  // this one unless a core file says otherwise.
  virtual Address untagged(Address pointer) const { return pointer & address_bits(kHostMachine); }
};

// One fixed-size value. T must be safe for any bit pattern.
template <class T>
Result<T> read_value(const MemorySource& memory, Address address) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  Status status = memory.read(address, std::as_writable_bytes(std::span(&value, 1)));
  if (!status) return std::move(status).error();
  return value;
}

// process_vm_readv on a live process: sees running threads mid-write unless they are stopped.
std::unique_ptr<MemorySource> open_process_memory(Pid pid);

}  // namespace labelscope
