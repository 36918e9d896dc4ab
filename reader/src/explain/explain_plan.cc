// explain_plan() writes a PlanTrace in sentences: what has happened. It decides nothing.
//
// A line that begins with spaces belongs to the last line that does not.
#include <elf.h>

#include <algorithm>

#include "base/text.h"
#include "elf/elf_names.h"
#include "labelscope/explain.h"
#include "sources/file_inspection.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

std::string files(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " file" : " files");
}

// Returns "0x7f0000002010 (0x2010 in the file)": both addresses, because other tools show that of
// the file.
std::string runtime_address(const ModuleTrace& module, std::uint64_t link_time) {
  std::string at_run_time = hex(module.load_bias + link_time);
  if (module.load_bias == 0) return at_run_time;
  return at_run_time + " (" + hex(link_time) + " in the file)";
}

std::string kind_of_symbol(const ElfSymbol& symbol) {
  std::string text = std::string(symbol_type_name(symbol.type)) + ", " +
                     std::string(symbol_binding_name(symbol.binding)) + ", " +
                     std::string(symbol_visibility_name(symbol.visibility)) + ", " +
                     std::to_string(symbol.size) + " bytes";
  return text;
}

std::string version_line(const char* name, const ModuleTrace& module) {
  const auto& version = best_of(module.file.version);
  if (!version) return "  " + std::string(name) + " is not defined";
  std::string text = "  " + std::string(name) + " in " +
                     std::string(symbol_table_name(version->table)) + ": " +
                     kind_of_symbol(*version) + ", at " + runtime_address(module, version->value);
  if (module.file.version_value) {
    text += "; the word in memory is " + std::to_string(*module.file.version_value);
  }
  return text;
}

std::string variable_line(const char* name, const ModuleTrace& module) {
  const auto& variable = best_of(module.file.variable);
  if (!variable) return "  " + std::string(name) + " is not defined";
  return "  " + std::string(name) + " in " + std::string(symbol_table_name(variable->table)) +
         ": " + kind_of_symbol(*variable) + ", at " + hex(variable->value) +
         (variable->type == STT_TLS ? " of the module's TLS block" : "");
}

std::string slot_line(const ModuleTrace& module, const SlotTrace& slot) {
  const TlsRelocation& relocation = slot.relocation;
  std::string text = "  " + std::string(relocation_name(module.file.machine, relocation.kind)) +
                     (relocation.by_name ? ", naming the variable"
                                         : ", without a symbol (the module's block plus addend)") +
                     ", addend " + signed_hex(relocation.addend) + ", slot at " +
                     runtime_address(module, relocation.slot);
  if (!slot.words.empty()) {
    text += slot.words.size() == 1 ? ", live word" : ", live words";
    for (const std::uint64_t word : slot.words) text += " " + hex(word);
  }
  if (!slot.taken_for.empty()) text += ": " + slot.taken_for;
  return text;
}

std::string record_line(const LoaderRecordTrace& record) {
  std::string text = "  the loader's record: module ID " + std::to_string(record.module_id) +
                     ", generation " + std::to_string(record.generation);
  if (!record.static_offset) return text + ", block allocated by each thread at its first use";
  return text + ", block in static TLS, at " +
         distance_from("the thread pointer", *record.static_offset) + " in every thread";
}

std::string preset_words(const PresetPlan& preset) {
  return preset.name + ", a program of " + std::to_string(preset.program.count) + " steps for " +
         (preset.only_main_thread ? "the first thread" : "every thread");
}

std::string recipe_line(const Publisher& publisher, const PresetPlans& presets) {
  const ls_tls_recipe& recipe = publisher.recipe;
  const std::string model = "  recipe (" + std::string(access_model_name(publisher.model)) + "): ";
  if (const PresetPlan* preset = presets.find(recipe)) return model + preset_words(*preset);
  switch (recipe.kind) {
    case LS_TP_OFFSET:
      return model + "the variable is at " + distance_from("the thread pointer", recipe.offset) +
             " in every thread";
    case LS_DTV_SLOT:
      return model + "the variable is at " + signed_hex(recipe.offset) +
             " of the block that entry " + std::to_string(recipe.module_id) +
             " of the thread's DTV leads to" +
             (recipe.generation == 0
                  ? std::string()
                  : ", if the DTV's generation is at least " + std::to_string(recipe.generation));
    case LS_IN_REGISTER:
      return model + "x28 of each thread holds it";
    case LS_AT_ADDRESS:
      return model + "the process has it once, at " + hex(static_cast<Address>(recipe.offset)) +
             ", for all threads";
    case LS_FIRST_THREAD_AT_ADDRESS:
      return model + "the process has it once, at " + hex(static_cast<Address>(recipe.offset)) +
             ", for its first thread";
    case LS_RECIPE_NOT_RELOCATED:
      return model + "none yet, the loader has not finished";
    default:
      return model + "none";
  }
}

void explain_module(const ProcessPlan& plan, const ModuleTrace& module,
                    std::vector<std::string>& steps) {
  std::string head = module.path + ": " + (module.file.executable ? "main executable" : "library") +
                     ", " + std::string(machine_name(module.file.machine)) + ", load bias " +
                     hex(module.load_bias);
  if (const auto& tls = module.file.tls) {
    head += ", TLS block of " + std::to_string(tls->memory_size) + " bytes aligned to " +
            std::to_string(tls->alignment);
  } else {
    head += ", no TLS block";
  }
  steps.push_back(std::move(head));
  // If the symbols could not be read, it is unknown whether they are defined.
  if (!module.refused || module.refused->code != FindingCode::kUnreadableFile) {
    const LabelSource& source = *find_source(module.file.source);
    const char* variable =
        module.named.empty() ? source.about.variable_symbol : module.named.c_str();
    if (source.about.version_symbol != nullptr) {
      steps.push_back(version_line(source.about.version_symbol, module));
    }
    if (variable != nullptr) steps.push_back(variable_line(variable, module));
    for (const SourceDetail& detail : source.details(module.file)) {
      steps.push_back("  " + std::string(detail.name) + ": " + detail.text);
    }
  }
  for (const SlotTrace& slot : module.slots) steps.push_back(slot_line(module, slot));
  if (module.record) steps.push_back(record_line(*module.record));
  if (module.publisher && *module.publisher < plan.publishers.size()) {
    steps.push_back(recipe_line(plan.publishers[*module.publisher], plan.presets));
  } else if (!module.shares_with.empty()) {
    steps.push_back("  the loader bound its variable to that of " + module.shares_with +
                    ", which is read already");
  } else if (module.refused) {
    steps.push_back("  not read: " + module.refused->text);
  }
}

void explain_context(const ProcessFacts& facts, std::vector<std::string>& steps) {
  steps.push_back(
      std::string(facts.of_parent ? "the process that it was forked from" : "the process") +
      " has a process context at " + hex(facts.header) + ": " +
      std::to_string(facts.attributes.size()) + " attributes, names of " +
      std::to_string(facts.keys.size()) + " keys");
  for (const auto& [key, value] : facts.attributes) {
    steps.push_back(std::string("  ").append(key).append("=").append(value));
  }
  for (std::size_t i = 0; i < facts.keys.size(); ++i) {
    steps.push_back("  key " + std::to_string(i) + " is " + facts.keys[i]);
  }
}

Finding of_module(const std::string& path, Finding finding) {
  finding.text = path + ": " + finding.text;
  return finding;
}

std::string none_defines(const ProcessPlan& plan) {
  if (!plan.refusals.empty()) return "no file that could be read defines ";
  if (plan.modules == 1) return "its only file does not define ";
  return "none of its " + files(plan.modules) + " defines ";
}

// Returns why there is not even a candidate for a publisher.
Finding absence(const ProcessPlan& plan, const PlanTrace& trace) {
  const MainExecutableTrace& main = trace.main_executable;
  if (plan.modules == 0) {
    return {FindingCode::kNoPublisher, "none of its files could be read",
            "look at it as root, or give the files (--sysroot) if it is a core"};
  }
  if (!main.path.empty() && !main.has_dynamic_symbols && !main.has_symtab) {
    return {FindingCode::kNoSymbols,
            main.path +
                " has no symbol table at all (statically linked and stripped), so that labels, if "
                "it has any, cannot be found",
            "strip it with --strip-debug, or keep the symbols with --keep-symbol"};
  }
  std::string text = none_defines(plan) + publisher_symbols();
  if (!main.path.empty() && !main.has_symtab) {
    text += " (" + main.path + " is stripped: what it does not export cannot be seen)";
  }
  if (!plan.sources.empty()) text += "; what labels can come from: " + plan.sources;
  return {FindingCode::kNoPublisher, std::move(text),
          "link the program with a library that publishes labels, such as libcustomlabels.so, and "
          "check that it is loaded"};
}

// Returns the findings of the plan, in the order of modules.
std::vector<Finding> findings_of(const ProcessPlan& plan, const PlanTrace& trace) {
  std::vector<Finding> found;
  for (const MissingVariable& missing : plan.missing) found.push_back(missing.finding);
  for (const MissingPreset& missing : plan.missing_presets) found.push_back(missing.finding);
  for (const Publisher& publisher : plan.publishers) {
    for (const Finding& finding : publisher.findings) {
      found.push_back(of_module(publisher.path, finding));
    }
  }
  for (const Refusal& refusal : plan.refusals) {
    found.push_back(of_module(refusal.path, refusal.finding));
  }
  if (plan.facts)
    found.insert(found.end(), plan.facts->findings.begin(), plan.facts->findings.end());
  // These findings are only in the trace: without a trace, planning does not look for them.
  for (const ModuleTrace& module : trace.modules) {
    if (!module.refused) continue;
    const bool known = std::ranges::any_of(plan.refusals, [&](const Refusal& refusal) {
      return refusal.path == module.path && refusal.finding.code == module.refused->code;
    });
    if (!known) found.push_back(of_module(module.path, *module.refused));
  }
  return found;
}

}  // namespace

Explanation explain_plan(const ProcessPlan& plan, const PlanTrace& trace) {
  Explanation explanation;
  std::string looked = "looked at " + files(plan.modules) + ": " +
                       std::to_string(trace.without_symbols) + " without " + publisher_symbols() +
                       ", " + std::to_string(plan.modules - trace.without_symbols) + " with some";
  explanation.steps.push_back(std::move(looked));
  if (!trace.libc.empty()) explanation.steps.push_back("the libc is " + trace.libc);
  for (const ModuleTrace& module : trace.modules) explain_module(plan, module, explanation.steps);
  if (plan.facts && plan.facts->has_context()) explain_context(*plan.facts, explanation.steps);
  std::vector<Finding> found = findings_of(plan, trace);
  // This comes after files that could not be read: any of them may be the publisher.
  if (plan.publishers.empty() && trace.modules.empty()) found.push_back(absence(plan, trace));
  // Findings that keep labels from being read come first, then deviations of publishers that work.
  if (!plan.publishers.empty()) {
    std::stable_partition(found.begin(), found.end(),
                          [](const Finding& each) { return each.harm == Harm::kUnreadable; });
  }
  explanation.findings = std::move(found);
  return explanation;
}

}  // namespace labelscope
