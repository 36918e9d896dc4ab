// The names of ELF's numbers come from System V gABI chapter 4, and from each processor's psABI for
// relocations.
#include "elf/elf_names.h"

#include <elf.h>

#include <initializer_list>
#include <utility>

namespace labelscope {
namespace {

using Names = std::initializer_list<std::pair<std::uint8_t, std::string_view>>;

std::string_view name_of(std::uint8_t number, Names names) {
  for (const auto& [known, name] : names) {
    if (known == number) return name;
  }
  return "unknown";
}

}  // namespace

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
  return name_of(type, {{STT_NOTYPE, "NOTYPE"},
                        {STT_OBJECT, "OBJECT"},
                        {STT_FUNC, "FUNC"},
                        {STT_SECTION, "SECTION"},
                        {STT_FILE, "FILE"},
                        {STT_COMMON, "COMMON"},
                        {STT_TLS, "TLS"},
                        {STT_GNU_IFUNC, "IFUNC"}});
}

std::string_view symbol_binding_name(std::uint8_t binding) {
  return name_of(binding, {{STB_LOCAL, "LOCAL"},
                           {STB_GLOBAL, "GLOBAL"},
                           {STB_WEAK, "WEAK"},
                           {STB_GNU_UNIQUE, "UNIQUE"}});
}

std::string_view symbol_visibility_name(std::uint8_t visibility) {
  return name_of(visibility, {{STV_DEFAULT, "DEFAULT"},
                              {STV_INTERNAL, "INTERNAL"},
                              {STV_HIDDEN, "HIDDEN"},
                              {STV_PROTECTED, "PROTECTED"}});
}

}  // namespace labelscope
