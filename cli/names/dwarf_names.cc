// Entries of DWARF do not know their parents, so the entries around one are found by its offset.
#include "cli/names/dwarf_names.h"

#include <dwarf.h>

#include <optional>

namespace labelscope::cli {
namespace {

constexpr std::size_t kMaxDepth = 64;
// From the concrete function to the abstract one to the declaration are two steps; a hostile chain
// may be a circle.
constexpr int kMaxOrigins = 8;

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
  for (std::size_t depth = 0; depth < kMaxDepth && scopes.size() < kMaxDwarfText; ++depth) {
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

void DwarfNames::fill(Dwarf_Die function, SourceLine& line) {
  if (const char* linkage = linkage_name(function); linkage != nullptr) {
    line.system_name = dwarf_text(linkage);
    return;
  }
  line.system_name = dwarf_text(dwarf_diename(&function));
  if (line.system_name.empty()) return;
  Dwarf_Die declared = declaration(function);
  auto [found, fresh] = qualified_.try_emplace(dwarf_dieoffset(&declared));
  if (fresh) found->second = dwarf_text((scopes_around(declared) + line.system_name).c_str());
  line.function = found->second;
}

}  // namespace labelscope::cli
