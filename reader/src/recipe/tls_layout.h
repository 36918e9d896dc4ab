// This is the arithmetic of static TLS: where the main executable's variables are, seen from the
// thread pointer.
#pragma once

#include <cstdint>

#include "labelscope/elf_types.h"

namespace labelscope {

// Returns the offset from the thread pointer of the main executable's variable at `symbol_value` in
// its TLS block, as every linker computes it for local-exec access.
std::int64_t local_exec_offset(Machine machine, const TlsSegment& tls, std::uint64_t symbol_value);

// Returns true if the code at a TLS descriptor's resolver returns the descriptor's argument and
// does nothing else, so that the argument is an offset from the thread pointer. `code` are the
// first bytes there; 16 are enough.
bool is_static_tlsdesc_resolver(Machine machine, const unsigned char* code, std::uint64_t size);

}  // namespace labelscope
