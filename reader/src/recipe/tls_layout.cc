// Where thread-local variables are.
//
// Each thread has a thread pointer (fs base on x86-64, TPIDR_EL0 on aarch64) to its thread control
// block. The loader lays out the TLS blocks of the executable and of the libraries loaded at start
// next to it, at distances that are the same in every thread ("static TLS"); other blocks are found
// through the DTV, an array of pointers indexed by module ID.
//
//   variant II (x86-64):   [ library ][ executable ][ TCB ...          blocks lie below the thread
//   pointer
//                                                   ^ thread pointer
//   variant I (aarch64):   [ TCB (16 bytes) ][ executable ][ library ]  blocks lie above it
//                          ^ thread pointer
//
// The executable's block is the first, so its distance follows from its own PT_TLS alone, and the
// linker writes it into the code (local-exec). The block must be aligned to p_align, and p_vaddr
// need not be: then the loader keeps p_vaddr's remainder, and the formulas below subtract it.
// Taking sizeof(TCB) for round_up(sizeof(TCB), p_align), or forgetting to round the size up, reads
// the wrong variable as soon as somebody aligns one to more than its size.
//
// Sources: Drepper, "ELF Handling For Thread-Local Storage", sections 3 and 4; psABI of both
// processors.
#include "labelscope/tls_layout.h"

#include <cstring>

namespace labelscope {
namespace {

constexpr std::uint64_t kAarch64TcbSize = 16;

}  // namespace

std::int64_t local_exec_offset(Machine machine, const TlsSegment& tls, std::uint64_t symbol_value) {
  std::uint64_t mask = tls.alignment - 1;
  if (machine == Machine::kX86_64) {
    std::uint64_t block = tls.memory_size + ((0 - tls.vaddr - tls.memory_size) & mask);
    return static_cast<std::int64_t>(symbol_value - block);
  }
  std::uint64_t block = kAarch64TcbSize + ((tls.vaddr - kAarch64TcbSize) & mask);
  return static_cast<std::int64_t>(block + symbol_value);
}

bool is_static_tlsdesc_resolver(Machine machine, const unsigned char* code, std::uint64_t size) {
  auto starts_with = [&](std::uint64_t at, const void* bytes, std::uint64_t count) {
    return at + count <= size && std::memcmp(code + at, bytes, count) == 0;
  };
  if (machine == Machine::kX86_64) {
    static constexpr unsigned char kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static constexpr unsigned char kLoadArgument[] = {0x48, 0x8b, 0x40, 0x08,
                                                      0xc3};  // mov 8(%rax),%rax; ret
    std::uint64_t at = starts_with(0, kEndbr64, sizeof kEndbr64) ? sizeof kEndbr64 : 0;
    return starts_with(at, kLoadArgument, sizeof kLoadArgument);
  }
  // Little-endian instruction words; builds with branch protection start with bti c.
  static constexpr unsigned char kNop[] = {0x1f, 0x20, 0x03, 0xd5};
  static constexpr unsigned char kBtiC[] = {0x5f, 0x24, 0x03, 0xd5};
  static constexpr unsigned char kLoadArgument[] = {0x00, 0x04, 0x40, 0xf9,   // ldr x0, [x0, #8]
                                                    0xc0, 0x03, 0x5f, 0xd6};  // ret
  std::uint64_t at = 0;
  while (at < 8 && (starts_with(at, kNop, 4) || starts_with(at, kBtiC, 4))) at += 4;
  return starts_with(at, kLoadArgument, sizeof kLoadArgument);
}

}  // namespace labelscope
