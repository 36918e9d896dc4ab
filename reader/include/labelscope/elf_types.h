// These types have the parts of an ELF file that matter for thread-local variables, as plain data.
//
// Sources: System V gABI chapters 4 and 5; psABI x86-64 section 4.4; ELF for the Arm 64-bit
// architecture section 5.7.
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of labelscope need C++20 (-std=c++20); labelscope/labelscope.h is for C"
#endif

#include <cstdint>

namespace labelscope {

enum class Machine { kX86_64, kAarch64 };

// The PT_TLS segment is the template of the module's TLS block.
struct TlsSegment {
  std::uint64_t vaddr = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 1;  // a power of two
};

enum class SymbolTable { kDynamic, kSymtab };

struct ElfSymbol {
  std::uint64_t value = 0;  // link-time address; for a thread-local symbol, offset in the TLS block
  std::uint64_t size = 0;
  std::uint32_t index = 0;      // the index in its table
  std::uint8_t type = 0;        // STT_*
  std::uint8_t binding = 0;     // STB_*
  std::uint8_t visibility = 0;  // STV_*
  bool defined = false;         // false if this file only imports it
  SymbolTable table = SymbolTable::kDynamic;
};

enum class TlsRelocationKind {
  kTlsDesc,  // R_X86_64_TLSDESC, R_AARCH64_TLSDESC: {resolver, argument}
  kDtpMod,   // R_X86_64_DTPMOD64, R_AARCH64_TLS_DTPMOD: module ID, followed by the offset
  kTpOff,    // R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL: offset from the thread pointer
};

struct TlsRelocation {
  TlsRelocationKind kind{};
  std::uint64_t slot =
      0;  // link-time address of the word (or first of two words) that is relocated
  std::int64_t addend = 0;
  bool by_name =
      // true if it names the variable; otherwise it has no symbol: the module's own block plus
      // addend
      false;
};

}  // namespace labelscope
