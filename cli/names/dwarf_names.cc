// Entries of DWARF do not know their parents, so the entries around one are found by its offset: in
// the index of its unit, or, where link-time optimization has inlined from another unit, by a walk.
#include "cli/names/dwarf_names.h"

#include <dwarf.h>

#include <optional>
#include <utility>

#include "cli/names/unit_index.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMaxNameDepth = 64;
// From the concrete function to the abstract one to the declaration are two steps; a hostile chain
// may be a circle.
constexpr int kMaxOrigins = 8;
// So many names are kept. A name of C++ has a hundred bytes, rarely a thousand.
constexpr std::size_t kMostKeptNames = 16384;

const char* linkage_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  // It also finds it at the abstract origin or the declaration, if the concrete function has none.
  Dwarf_Attribute* found = dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute);
  if (found == nullptr) found = dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute);
  return found != nullptr ? dwarf_formstring(found) : nullptr;
}

// Returns the entry at the place where the source code declares the function.
Dwarf_Die declaration(Dwarf_Die die) {
  for (int step = 0; step < kMaxOrigins; ++step) {
    Dwarf_Attribute attribute;
    Dwarf_Attribute* found = dwarf_attr(&die, DW_AT_abstract_origin, &attribute);
    if (found == nullptr) found = dwarf_attr(&die, DW_AT_specification, &attribute);
    Dwarf_Die origin;
    if (found == nullptr || dwarf_formref_die(found, &origin) == nullptr) break;
    die = origin;
  }
  return die;
}

std::string scope_name(Dwarf_Die& die) {
  if (!is_named_scope(dwarf_tag(&die))) return {};
  std::string name = dwarf_text(dwarf_diename(&die));
  if (!name.empty()) return name + "::";
  return dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)::" : "(anonymous)::";
}

}  // namespace

bool is_named_scope(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
      return true;
    default:
      return false;
  }
}

std::string DwarfNames::scopes_around(Dwarf_Die target) {
  std::string scopes;
  Dwarf_Off wanted = dwarf_dieoffset(&target);
  Dwarf_Die parent;
  if (dwarf_diecu(&target, &parent, nullptr, nullptr) == nullptr) return scopes;
  for (std::size_t depth = 0; depth < kMaxNameDepth && scopes.size() < kMaxDwarfText; ++depth) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) break;
    // Entries are in the order of their offsets: the last one not past the target holds it.
    std::optional<Dwarf_Die> holder;
    do {
      if (dwarf_dieoffset(&child) > wanted || !budget_.spend(Cost::kEntries)) break;
      holder = child;
    } while (next_sibling(child));
    if (!holder || dwarf_dieoffset(&*holder) == wanted) break;
    scopes += scope_name(*holder);
    parent = *holder;
  }
  return scopes;
}

std::string DwarfNames::scopes_in_unit(Dwarf_Die& target, const UnitIndex& unit) {
  std::string scopes;
  Dwarf* dwarf = dwarf_cu_getdwarf(target.cu);
  for (const Dwarf_Off each : unit.around(dwarf_dieoffset(&target))) {
    Dwarf_Die die;
    if (scopes.size() > kMaxDwarfText || dwarf_offdie(dwarf, each, &die) == nullptr) break;
    scopes += scope_name(die);
  }
  return scopes;
}

DwarfNames::Name DwarfNames::name_of(Dwarf_Die function, const Dwarf_CU* cu,
                                      const UnitIndex& unit) {
  Name name;
  if (const char* linkage = linkage_name(function); linkage != nullptr) {
    name.system_name = dwarf_text(linkage);
    return name;
  }
  name.system_name = dwarf_text(dwarf_diename(&function));
  if (name.system_name.empty()) return name;
  Dwarf_Die declared = declaration(function);
  const std::string scopes =
      declared.cu == cu ? scopes_in_unit(declared, unit) : scopes_around(declared);
  name.function = dwarf_text((scopes + name.system_name.str()).c_str());
  return name;
}

void DwarfNames::fill(Dwarf_Die function, const UnitIndex& unit, SourceLine& line) {
  const Dwarf_CU* cu = function.cu;
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  // A call has no name of its own.
  const bool is_call = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
  if (is_call && dwarf_attr(&function, DW_AT_abstract_origin, &attribute) != nullptr &&
      dwarf_formref_die(&attribute, &origin) != nullptr) {
    function = origin;
  }
  if (names_.size() >= kMostKeptNames) names_.clear();
  auto [found, fresh] = names_.try_emplace(function.addr);
  if (fresh) found->second = name_of(function, cu, unit);
  line.system_name = found->second.system_name;
  line.function = found->second.function;
}

}  // namespace labelscope::cli
