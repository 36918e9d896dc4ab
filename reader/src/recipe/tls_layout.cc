// This explains and computes where thread-local variables are.
//
// Each thread has a thread pointer (fs base on x86-64, TPIDR_EL0 on aarch64) to its thread control
// block (TCB). For the executable, and for the libraries loaded at start, the loader places a TLS
// block beside the TCB, at a distance that is the same in every thread ("static TLS"). Other blocks
// are found through the DTV, an array of pointers indexed by module ID.
//
//   x86-64 (variant II): the blocks lie below the thread pointer
//
//       [ library's block ][ executable's block ][ TCB ... ]
//                                                ^ thread pointer
//
//   aarch64 (variant I): the blocks lie above the thread pointer
//
//       [ TCB, 16 bytes ][ executable's block ][ library's block ]
//       ^ thread pointer
//
// The executable's block is the one next to the TCB. So its distance follows from the executable's
// own PT_TLS alone, and the linker writes it into the code (local-exec). local_exec_offset()
// computes the same number. Two roundings are easy to miss. They matter as soon as an executable
// aligns a variable to more than its size:
//   - The block is aligned to p_align: on x86-64 the size is rounded up, on aarch64 the 16 bytes.
//   - p_vaddr need not be a multiple of p_align. The loader keeps its remainder: the address of the
//     block is equal to p_vaddr modulo p_align.
//
// Sources: Drepper, "ELF Handling For Thread-Local Storage", sections 3 and 4; the psABI of each
// processor.
#include "recipe/tls_layout.h"

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
  // Instruction words in little-endian order. Builds with branch protection start with bti c.
  static constexpr unsigned char kNop[] = {0x1f, 0x20, 0x03, 0xd5};
  static constexpr unsigned char kBtiC[] = {0x5f, 0x24, 0x03, 0xd5};
  static constexpr unsigned char kLoadArgument[] = {0x00, 0x04, 0x40, 0xf9,   // ldr x0, [x0, #8]
                                                    0xc0, 0x03, 0x5f, 0xd6};  // ret
  std::uint64_t at = 0;
  while (at < 8 && (starts_with(at, kNop, 4) || starts_with(at, kBtiC, 4))) at += 4;
  return starts_with(at, kLoadArgument, sizeof kLoadArgument);
}

}  // namespace labelscope
