// A dump as one JSON object.
#include <ostream>

#include "cli/dump/formats.h"
#include "cli/dump/wording.h"
#include "cli/format/common/json_values.h"
#include "cli/text/text.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

constexpr int kVersion = 1;

std::string_view source_name(SnapshotSource source) {
  if (source == SnapshotSource::kCore) return "core";
  return source == SnapshotSource::kBpf ? "bpf" : "ptrace";
}

Json explanation_json(const Explanation& explanation) {
  return {{"steps", array_json(explanation.steps, bytes_json)},
          {"findings", array_json(explanation.findings, finding_json)}};
}

Json recipe_json(const ls_tls_recipe& recipe) {
  switch (recipe.kind) {
    case LS_TP_OFFSET:
      return {{"kind", "tp-offset"}, {"offset", recipe.offset}};
    case LS_DTV_SLOT:
      return {{"kind", "dtv-slot"},
              {"offset", recipe.offset},
              {"module_id", recipe.module_id},
              {"generation", recipe.generation}};
    case LS_IN_REGISTER:
      return {{"kind", "register"}};
    case LS_AT_ADDRESS:
      return {{"kind", "address"}, {"offset", recipe.offset}};
    case LS_FIRST_THREAD_AT_ADDRESS:
      return {{"kind", "address-of-first-thread"}, {"offset", recipe.offset}};
    case LS_RECIPE_NOT_RELOCATED:
      return {{"kind", "not-relocated"}};
    default:
      return {{"kind", "none"}};
  }
}

// Not every source has a symbol for its variable.
Json variable_json(const Publisher& publisher) {
  if (!publisher.named.empty()) return publisher.named;
  const char* symbol = find_source(publisher.recipe.source)->about.variable_symbol;
  return symbol != nullptr ? Json(symbol) : Json(nullptr);
}

Json publisher_json(const ProcessDump& dump, std::size_t index) {
  const Publisher& publisher = dump.snapshot.plan.publishers[index];
  return {{"path", bytes_json(publisher.path)},
          {"name", bytes_json(publisher_name(dump, index))},
          {"load_bias", address_json(publisher.load_bias)},
          {"source", find_source(publisher.recipe.source)->about.name},
          {"variable", variable_json(publisher)},
          {"access_model", access_model_name(publisher.model)},
          {"recipe", recipe_json(publisher.recipe)},
          {"findings", array_json(publisher.findings, finding_json)}};
}

Json frame_json(const Location& location) {
  return {{"address", address_json(location.address)},
          {"module", index_json(location.module)},
          {"lines", lines_json(location)}};
}

Json stack_json(const ProcessDump& dump, std::size_t thread) {
  const Index index = dump.stacks->of_thread[thread];
  if (index == kNoIndex) return nullptr;
  const Profile& profile = dump.stacks->profile;
  const UnwoundStack& unwound = *dump.snapshot.threads[thread].stack;
  return {{"frames", array_json(profile.stacks[index].frames,
                                [&](Index at) { return frame_json(profile.locations[at]); })},
          {"cut", bytes_json(unwound.cut)},
          {"out_of_time", unwound.end == LS_STACK_OUT_OF_TIME}};
}

Json thread_json(const ProcessDump& dump, std::size_t index) {
  const ThreadSnapshot& thread = dump.snapshot.threads[index];
  Json json;
  json["tid"] = raw(thread.tid);
  json["name"] = bytes_json(thread.name);
  json["state"] = thread.state == '?' ? Json(nullptr) : Json(std::string(1, thread.state));
  json["signal"] = thread.signal;
  json["thread_pointer"] =
      thread.thread_pointer ? address_json(*thread.thread_pointer) : Json(nullptr);
  json["outcome"] = outcome_name(thread.seen.outcome);
  json["flags"] = flags_json(thread.seen.flags);
  json["labels"] = array_json(thread.seen.labels, label_json);
  json["problem"] = bytes_json(thread.problem);
  json["held_ns"] = thread.held.count();
  if (dump.stacks) json["stack"] = stack_json(dump, index);
  auto explained = dump.of_threads.find(thread.tid);
  if (explained != dump.of_threads.end()) json["explanation"] = explanation_json(explained->second);
  return json;
}

Json core_json(const CoreOrigin& core) {
  return {{"path", bytes_json(core.path)},
          {"truncated", core.truncated},
          {"files", array_json(core.problems, [](const CoreFileProblem& problem) {
             return Json{{"path", bytes_json(problem.path)},
                         {"build_id", problem.build_id},
                         {"reason", bytes_json(problem.reason)},
                         {"used", problem.used}};
           })}};
}

Json totals_json(const ProcessSnapshot& snapshot) {
  const DumpTotals totals = add_up(snapshot);
  return {{"threads", totals.threads},
          {"outcomes", outcomes_json(totals.outcomes)},
          {"vanished", snapshot.vanished},
          {"incomplete", snapshot.incomplete},
          {"stopped", totals.stopped},
          {"longest_stop_ns", totals.longest_stop.count()},
          {"median_stop_ns", totals.median_stop.count()}};
}

Json dump_json(const ProcessDump& dump, std::string_view tool_version) {
  const ProcessSnapshot& snapshot = dump.snapshot;
  const ProcessPlan& plan = snapshot.plan;
  Json json{{"format", "labelscope-dump"},
            {"version", kVersion},
            {"tool_version", tool_version},
            {"source", source_name(snapshot.source)},
            {"refusal", bytes_json(dump.refusal)},
            {"late_by_bpf", dump.late_by_bpf},
            {"pid", raw(snapshot.pid)},
            {"comm", bytes_json(snapshot.comm)},
            {"command_line", bytes_json(dump.command_line)},
            {"core", dump.core ? core_json(*dump.core) : Json(nullptr)},
            {"modules_searched", plan.modules},
            {"publishers", Json::array()}};
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    json["publishers"].push_back(publisher_json(dump, i));
  }
  json["attributes"] = attributes_json(plan.facts ? plan.facts->attributes : Attributes());
  json["refused"] = array_json(plan.refusals, [](const Refusal& refusal) {
    return Json{{"path", bytes_json(refusal.path)}, {"finding", finding_json(refusal.finding)}};
  });
  json["missing_variables"] = array_json(
      plan.missing, [](const MissingVariable& missing) { return finding_json(missing.finding); });
  json["missing_presets"] = array_json(plan.missing_presets, [](const MissingPreset& missing) {
    return finding_json(missing.finding);
  });
  json["absence"] = bytes_json(plan.absence());
  json["process_labels"] = array_json(dump.process_labels, [](const ProcessLabel& label) {
    return Json{{"key", bytes_json(label.key)},
                {"value", bytes_json(label.value)},
                {"source", source_path(label.source)}};
  });
  if (dump.explanation) json["explanation"] = explanation_json(*dump.explanation);
  if (dump.stacks) json["modules"] = array_json(dump.stacks->profile.modules, module_fields);
  json["threads"] = Json::array();
  for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
    json["threads"].push_back(thread_json(dump, i));
  }
  json["totals"] = totals_json(snapshot);
  return json;
}

}  // namespace

Status render_dump_json(const ProcessDump& dump, std::string_view tool_version, std::ostream& out) {
  out << json_text(dump_json(dump, tool_version)) << '\n';
  return flush_output(out);
}

}  // namespace labelscope::cli
