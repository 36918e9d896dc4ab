// Writes through /proc/PID/mem, which reaches read-only pages of a traced process.
#include "cli/step/breakpoints.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#if defined(__aarch64__)
#include "cli/step/aarch64_code.h"
#endif

namespace labelscope::cli {
namespace {

#if defined(__x86_64__)
constexpr std::uint8_t kTrap[] = {0xCC};  // int3
bool traps(const std::uint8_t* code) { return *code == *kTrap; }
#else
constexpr std::uint8_t kTrap[] = {0x00, 0x00, 0x20, 0xD4};  // brk #0
bool traps(const std::uint8_t* code) {
  std::uint32_t word = 0;
  std::memcpy(&word, code, sizeof word);
  return aarch64::is_breakpoint(word);
}
#endif
constexpr std::size_t kTrapSize = sizeof kTrap;

UniqueFd open_memory(Pid pid) {
  const std::string path = "/proc/" + std::to_string(raw(pid)) + "/mem";
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

std::size_t read_at(const UniqueFd& memory, Address address, void* out, std::size_t size) {
  const ssize_t got = ::pread(memory.get(), out, size, static_cast<off_t>(address));
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

bool write_at(const UniqueFd& memory, Address address, const void* bytes) {
  return ::pwrite(memory.get(), bytes, kTrapSize, static_cast<off_t>(address)) ==
         static_cast<ssize_t>(kTrapSize);
}

bool has_our_trap(const UniqueFd& memory, Address address) {
  std::uint8_t bytes[kTrapSize];
  return read_at(memory, address, bytes, kTrapSize) == kTrapSize &&
         std::memcmp(bytes, kTrap, kTrapSize) == 0;
}

}  // namespace

Result<Breakpoints> Breakpoints::open(Pid pid) {
  UniqueFd memory = open_memory(pid);
  if (!memory.valid()) {
    const int failed = errno;
    const std::string name = "process " + std::to_string(raw(pid));
    if (failed != EACCES && failed != EPERM) {
      return system_error(failed, "opening the memory of " + name);
    }
    return Error{ErrorCode::kPermission,
                 name +
                     " cannot be looked into: it runs a program file that its user may not read, "
                     "or that changes its user; make the file readable, or try sudo "
                     "(CAP_SYS_PTRACE)"};
  }
  return Breakpoints(std::move(memory));
}

bool Breakpoints::add(Address address) {
  auto [entry, fresh] = points_.try_emplace(address);
  Point& point = entry->second;
  // A breakpoint of the program's own must stay.
  if (fresh && (read_at(memory_, address, &point.original, kTrapSize) != kTrapSize ||
                is_trap(address) || !write_at(memory_, address, kTrap))) {
    points_.erase(entry);
    return false;
  }
  ++point.uses;
  return true;
}

void Breakpoints::remove(Address address) {
  auto entry = points_.find(address);
  if (entry == points_.end() || --entry->second.uses != 0) return;
  lift(address);
  points_.erase(entry);
}

bool Breakpoints::is_trap(Address address) const {
  std::uint8_t bytes[kTrapSize];
  return read_at(memory_, address, bytes, kTrapSize) == kTrapSize && traps(bytes);
}

void Breakpoints::lift(Address address) {
  // The program may have written other code there meanwhile.
  if (auto entry = points_.find(address);
      entry != points_.end() && has_our_trap(memory_, address)) {
    write_at(memory_, address, &entry->second.original);
  }
}

void Breakpoints::put_back(Address address) {
  const auto entry = points_.find(address);
  if (entry == points_.end()) return;
  std::uint32_t now = 0;
  const bool as_before =
      read_at(memory_, address, &now, kTrapSize) == kTrapSize && now == entry->second.original;
  if (as_before) write_at(memory_, address, kTrap);
}

std::size_t Breakpoints::read(Address address, std::span<std::byte> out) const {
  const std::size_t size = read_at(memory_, address, out.data(), out.size());
  for (auto at = points_.lower_bound(address < kTrapSize ? 0 : address - kTrapSize + 1);
       at != points_.end() && at->first < address + size; ++at) {
    const auto* original = reinterpret_cast<const std::byte*>(&at->second.original);
    for (std::size_t i = 0; i < kTrapSize; ++i) {
      const Address byte = at->first + i;
      if (byte >= address && byte < address + size) out[byte - address] = original[i];
    }
  }
  return size;
}

void Breakpoints::clean(Pid copy) const {
  const UniqueFd memory = open_memory(copy);
  if (!memory.valid()) return;
  for (const auto& [address, point] : points_) {
    if (has_our_trap(memory, address)) write_at(memory, address, &point.original);
  }
}

void Breakpoints::forget(Address start, Address end) {
  points_.erase(points_.lower_bound(start), points_.lower_bound(end));
}

}  // namespace labelscope::cli
