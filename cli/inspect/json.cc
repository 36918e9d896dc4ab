// The schema's number changes when a field gets another meaning or goes away, not when one is
// added.
#include "cli/format/common/json_values.h"
#include "cli/inspect/file_report.h"
#include "elf/elf_names.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

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

Json file_json(const FileReport& file) {
  const FileInspection& seen = file.inspection;
  const LabelSource& source = *find_source(seen.source);
  const LabelSource::About& names = source.about;
  Json symbols = Json::object();
  if (names.version_symbol != nullptr) symbols[names.version_symbol] = symbols_json(seen.version);
  if (names.variable_symbol != nullptr) {
    symbols[names.variable_symbol] = symbols_json(seen.variable);
  }
  Json facts = Json::object();
  for (const SourceDetail& detail : source.details(seen)) {
    facts[std::string(detail.name)] = bytes_json(detail.text);
  }
  const bool foreign = !seen.foreign_platform.empty();
  return {
      {"path", bytes_json(file.path)},
      {"mapped_path", bytes_json(file.mapped_path)},
      {"verdict", verdict_name(seen.verdict)},
      {"machine", platform_of(seen)},
      {"kind", foreign ? Json(nullptr) : Json(seen.executable ? "program" : "library")},
      {"build_id", seen.build_id.empty() ? Json(nullptr) : Json(seen.build_id)},
      {"has_dynsym", seen.has_dynamic_symbols},
      {"has_symtab", seen.has_symtab},
      {"abi_file_name", seen.abi_name},
      {"tls", seen.tls ? Json{{"size", seen.tls->memory_size}, {"alignment", seen.tls->alignment}}
                       : Json(nullptr)},
      {"version", seen.version_value ? Json(*seen.version_value) : Json(nullptr)},
      {"source", names.name},
      {"symbols", std::move(symbols)},
      {"facts", std::move(facts)},
      {"access", array_json(seen.access, file_access_name)},
      {"relocations", array_json(seen.relocations,
                                 [&](const TlsRelocation& relocation) {
                                   return Json{
                                       {"type", relocation_name(seen.machine, relocation.kind)},
                                       {"slot", address_json(relocation.slot)},
                                       {"addend", relocation.addend},
                                       {"by_name", relocation.by_name}};
                                 })},
      {"relocation_count", seen.relocation_count},
      {"imports_variable", seen.imports_variable},
      {"needs_publishers", array_json(seen.needs_publishers, bytes_json)},
      {"presets", array_json(file.presets,
                             [](const PresetReport& preset) {
                               return Json{{"name", preset.name},
                                           {"fits", preset.fits()},
                                           {"version", preset.variant},
                                           {"why_not", bytes_json(preset.why_not)},
                                           {"labels", preset.labels}};
                             })},
      {"findings", array_json(seen.findings, finding_json)}};
}

Json problem_json(const FileProblem& problem) {
  return {{"path", bytes_json(problem.path)},
          {"named", problem.named},
          {"error", error_name(problem.error.code)},
          {"text", bytes_json(problem.error.context)}};
}

}  // namespace

std::string render_inspect_json(const InspectReport& report) {
  const Json json{{"format", "labelscope-inspect"},
                  {"version", kVersion},
                  {"looked_at", report.looked_at},
                  {"elf_files", report.elf_files},
                  {"foreign", report.foreign},
                  {"publishing", report.publishing},
                  {"files", array_json(report.files, file_json)},
                  {"problems", array_json(report.problems, problem_json)}};
  return json_text(json, 2) + "\n";
}

}  // namespace labelscope::cli
