// The schema's number changes when a field gets another meaning or goes away, not when one is
// added.
#include "cli/format/json_values.h"
#include "cli/inspect/file_report.h"
#include "labelscope/elf_names.h"

namespace labelscope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json symbol_json(const std::optional<ElfSymbol>& symbol) {
  if (!symbol) return nullptr;
  return Json{{"defined", symbol->defined},
              {"type", symbol_type_name(symbol->type)},
              {"binding", symbol_binding_name(symbol->binding)},
              {"visibility", symbol_visibility_name(symbol->visibility)},
              {"size", symbol->size},
              {"value", address_json(symbol->value)}};
}

Json symbols_json(const InspectedSymbol& symbol) {
  return Json{{"dynsym", symbol_json(symbol.dynamic)}, {"symtab", symbol_json(symbol.symtab)}};
}

Json relocations_json(const FileInspection& seen) {
  Json relocations = Json::array();
  for (const TlsRelocation& relocation : seen.relocations) {
    relocations.push_back(Json{{"type", relocation_name(seen.machine, relocation.kind)},
                               {"slot", address_json(relocation.slot)},
                               {"addend", relocation.addend},
                               {"by_name", relocation.by_name}});
  }
  return relocations;
}

Json findings_json(const FileInspection& seen) {
  Json findings = Json::array();
  for (const Finding& finding : seen.findings) findings.push_back(finding_json(finding));
  return findings;
}

Json file_json(const FileReport& file) {
  const FileInspection& seen = file.inspection;
  Json json;
  json["path"] = bytes_json(file.path);
  json["mapped_path"] = bytes_json(file.mapped_path);
  json["verdict"] = verdict_name(seen.verdict);
  json["machine"] = platform_of(seen);
  json["kind"] = !seen.foreign_platform.empty() ? Json(nullptr)
                 : seen.executable              ? Json("program")
                                                : Json("library");
  json["build_id"] = seen.build_id.empty() ? Json(nullptr) : Json(seen.build_id);
  json["has_dynsym"] = seen.has_dynamic_symbols;
  json["has_symtab"] = seen.has_symtab;
  json["abi_file_name"] = seen.abi_name;
  json["tls"] = seen.tls ? Json{{"size", seen.tls->memory_size}, {"alignment", seen.tls->alignment}}
                         : Json(nullptr);
  json["version"] = seen.version_value ? Json(*seen.version_value) : Json(nullptr);
  const SourceNames names = names_of(seen.source);
  json["source"] = names.name;
  json["symbols"] = Json::object();
  if (names.version_symbol != nullptr) {
    json["symbols"][names.version_symbol] = symbols_json(seen.version);
  }
  json["symbols"][names.variable_symbol] = symbols_json(seen.variable);
  Json access = Json::array();
  for (const FileAccess one : seen.access) access.push_back(file_access_name(one));
  json["access"] = std::move(access);
  json["relocations"] = relocations_json(seen);
  json["relocation_count"] = seen.relocation_count;
  json["imports_variable"] = seen.imports_variable;
  json["findings"] = findings_json(seen);
  return json;
}

}  // namespace

std::string render_inspect_json(const InspectReport& report) {
  Json json;
  json["format"] = "labelscope-inspect";
  json["version"] = kVersion;
  json["looked_at"] = report.looked_at;
  json["elf_files"] = report.elf_files;
  json["foreign"] = report.foreign;
  json["publishing"] = report.publishing;
  json["files"] = Json::array();
  for (const FileReport& file : report.files) json["files"].push_back(file_json(file));
  json["problems"] = Json::array();
  for (const FileProblem& problem : report.problems) {
    json["problems"].push_back(Json{{"path", bytes_json(problem.path)},
                                    {"named", problem.named},
                                    {"error", error_name(problem.error.code)},
                                    {"text", bytes_json(problem.error.context)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace labelscope::cli
