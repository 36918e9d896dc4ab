// These are the names of ELF's numbers in the specifications, for people and for output that is
// compared with that of other tools. The name is "unknown" for a number that the specifications do
// not have here.
#pragma once

#include <cstdint>
#include <string_view>

#include "labelscope/elf_types.h"

namespace labelscope {

std::string_view machine_name(Machine machine);  // "x86-64", "aarch64"
// Returns the psABI's name: "R_X86_64_TLSDESC", "R_AARCH64_TLS_TPREL", ...
std::string_view relocation_name(Machine machine, TlsRelocationKind kind);
std::string_view symbol_table_name(SymbolTable table);             // ".dynsym", ".symtab"
std::string_view symbol_type_name(std::uint8_t type);              // "TLS", "OBJECT", ...
std::string_view symbol_binding_name(std::uint8_t binding);        // "GLOBAL", "WEAK", ...
std::string_view symbol_visibility_name(std::uint8_t visibility);  // "DEFAULT", "PROTECTED", ...

}  // namespace labelscope
