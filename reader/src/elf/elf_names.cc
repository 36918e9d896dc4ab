// Names of ELF's numbers: System V gABI chapter 4, and each processor's psABI for relocations.
#include "labelscope/elf_names.h"

#include <elf.h>

namespace labelscope {

std::string_view machine_name(Machine machine) {
  return machine == Machine::kX86_64 ? "x86-64" : "aarch64";
}

std::string_view relocation_name(Machine machine, TlsRelocationKind kind) {
  const bool x86_64 = machine == Machine::kX86_64;
  switch (kind) {
    case TlsRelocationKind::kTlsDesc:
      return x86_64 ? "R_X86_64_TLSDESC" : "R_AARCH64_TLSDESC";
    case TlsRelocationKind::kDtpMod:
      return x86_64 ? "R_X86_64_DTPMOD64" : "R_AARCH64_TLS_DTPMOD";
    case TlsRelocationKind::kTpOff:
      return x86_64 ? "R_X86_64_TPOFF64" : "R_AARCH64_TLS_TPREL";
  }
  return "unknown";
}

std::string_view symbol_table_name(SymbolTable table) {
  return table == SymbolTable::kDynamic ? ".dynsym" : ".symtab";
}

std::string_view symbol_type_name(std::uint8_t type) {
  switch (type) {
    case STT_NOTYPE:
      return "NOTYPE";
    case STT_OBJECT:
      return "OBJECT";
    case STT_FUNC:
      return "FUNC";
    case STT_SECTION:
      return "SECTION";
    case STT_FILE:
      return "FILE";
    case STT_COMMON:
      return "COMMON";
    case STT_TLS:
      return "TLS";
    case STT_GNU_IFUNC:
      return "IFUNC";
    default:
      return "unknown";
  }
}

std::string_view symbol_binding_name(std::uint8_t binding) {
  switch (binding) {
    case STB_LOCAL:
      return "LOCAL";
    case STB_GLOBAL:
      return "GLOBAL";
    case STB_WEAK:
      return "WEAK";
    case STB_GNU_UNIQUE:
      return "UNIQUE";
    default:
      return "unknown";
  }
}

std::string_view symbol_visibility_name(std::uint8_t visibility) {
  switch (visibility) {
    case STV_DEFAULT:
      return "DEFAULT";
    case STV_INTERNAL:
      return "INTERNAL";
    case STV_HIDDEN:
      return "HIDDEN";
    case STV_PROTECTED:
      return "PROTECTED";
    default:
      return "unknown";
  }
}

}  // namespace labelscope
