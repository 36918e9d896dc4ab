// The lossless recording, one JSON object on each line: docs/schema/recording-format.md describes
// each line.
//
// nlohmann's JSON writes every line that holds strings. Sample lines hold only numbers, and there
// are millions of them: those are composed here.
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/format/common/json_values.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/jsonl/jsonl_threads.h"
#include "cli/format/jsonl/jsonl_waits.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr int kVersion = 2;

Json header_json(const Profile& profile) {
  Json outcomes = Json::array();
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) outcomes.push_back(outcome_name(i));
  Json header = {{"type", "header"},
                 {"format", "labelscope-recording"},
                 {"version", kVersion},
                 {"tool_version", bytes_json(profile.tool_version)},
                 {"event", bytes_json(profile.event)},
                 {"mode", bytes_json(text_of(profile.values.front()))},
                 {"backend", bytes_json(profile.backend)},
                 {"call_graph", bytes_json(profile.call_graph)},
                 {"command_line", bytes_json(profile.command_line)},
                 {"kernel_release", bytes_json(profile.kernel_release)},
                 {"start_unix_ns", profile.start_unix_ns},
                 {"start_monotonic_ns", profile.start_monotonic_ns},
                 {"duration_ns", profile.duration_ns},
                 {"period_ns", profile.period_ns},
                 {"outcomes", std::move(outcomes)},
                 {"flags", flags_json((1U << kSampleFlagCount) - 1)}};
  if (profile.has_kinds()) {
    header["values"] = array_json(
        profile.values, [](const ValueType& value) { return bytes_json(text_of(value)); });
  }
  if (profile.has_blame) header["blame"] = true;
  if (!profile.blame_keys.empty())
    header["blame_keys"] = array_json(profile.blame_keys, bytes_json);
  if (!profile.counts_samples()) header["counted"] = bytes_json(profile.counted);
  if (!profile.remarks.empty()) header["remarks"] = array_json(profile.remarks, bytes_json);
  return header;
}

Json process_fields(const Process& process) {
  return {{"pid", raw(process.pid)},
          {"comm", bytes_json(process.comm)},
          {"publishers", array_json(process.publishers, bytes_json)},
          {"attributes", attributes_json(process.attributes)}};
}

Json module_line_fields(const Profile& profile, const ProfileModule& module) {
  Json fields = module_fields(module);
  fields["program"] = profile.program != kNoIndex && &module == &profile.modules[profile.program];
  return fields;
}

Json thread_fields(const Profile& profile, const Thread& thread) {
  return {{"process", index_json(thread.process)},
          {"pid", raw(profile.pid_of(thread))},
          {"tid", raw(thread.tid)},
          {"name", bytes_json(thread.name)},
          {"account", index_json(thread.account)}};
}

Json location_fields(const Location& location) {
  return {{"module", index_json(location.module)},
          {"address", address_json(location.address)},
          {"by_frame_pointer", location.kind == LS_FRAME_CODE_BY_FP},
          {"lines", lines_json(location)}};
}

Json stack_fields(const Stack& stack) {
  return {{"locations", stack.frames}, {"end", stack_end_name(stack)}};
}

Json label_set_fields(const LabelSet& set) { return {{"labels", array_json(set, label_json)}}; }

Json ledger_json(const Ledger& ledger) {
  return {{"type", "ledger"},
          {"taken", ledger.taken},
          {"outcomes", outcomes_json(ledger.outcomes)},
          {"dropped", ledger.dropped},
          {"written", ledger.written},
          {"truncated", ledger.truncated},
          {"time",
           {{"attributed_ns", ledger.time.attributed_ns},
            {"unsampled_ns", ledger.time.unsampled_ns},
            {"lost_ns", ledger.time.lost_ns},
            {"twice_ns", ledger.time.twice_ns},
            {"missing_ns", ledger.time.missing_ns},
            {"waits_twice_ns", ledger.time.waits_twice_ns},
            {"waits_missing_ns", ledger.time.waits_missing_ns}}},
          {"counters", array_json(ledger.named(), [](const auto& counter) {
             return Json{{"name", bytes_json(counter.first)}, {"count", counter.second}};
           })}};
}

void append_field(std::string& out, std::string_view name, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(",\"").append(name).append("\":").append(digits, end.ptr);
}

void append_index(std::string& out, std::string_view name, Index index) {
  if (index != kNoIndex) return append_field(out, name, index);
  out.append(",\"").append(name).append("\":null");
}

void append_sample(std::string& out, const SampleRow& row) {
  out += R"({"type":"sample")";
  append_field(out, "time_ns", row.time_ns);
  append_index(out, "thread", row.thread);
  append_index(out, "stack", row.stack);
  append_index(out, "labels", row.label_set);
  append_field(out, "count", row.count);
  append_field(out, "weight_ns", row.weight_ns);
  append_field(out, "outcome", row.outcome);
  append_field(out, "flags", row.flags);
  if (row.value != 0) append_field(out, "value", row.value);
  out += "}\n";
}

// Writes a line for each entry; other entries refer to it by its number.
template <class Table, class Fields>
void write_table(std::ostream& out, const char* type, const Table& table, Fields fields_of) {
  for (std::size_t id = 0; id < table.size() && out; ++id) {
    Json line{{"type", type}, {"id", id}};
    line.update(fields_of(table[id]));
    out << json_text(line) << '\n';
  }
}

}  // namespace

Status render_jsonl(const Profile& profile, const RenderOptions& /*options*/, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  out << json_text(header_json(profile)) << '\n';
  write_table(out, "process", profile.processes, process_fields);
  write_table(out, "thread", profile.threads,
              [&](const Thread& thread) { return thread_fields(profile, thread); });
  write_table(out, "module", profile.modules,
              [&](const ProfileModule& module) { return module_line_fields(profile, module); });
  write_table(out, "location", profile.locations, location_fields);
  write_table(out, "stack", profile.stacks, stack_fields);
  write_table(out, "labels", profile.label_sets, label_set_fields);
  std::string line;
  for (const SampleRow& row : profile.rows) {
    line.clear();
    append_sample(line, row);
    out << line;
    if (!out) break;
  }
  for (const WaitRow& row : profile.waits) {
    if (!out) break;
    out << json_text(waits_json(profile, row)) << '\n';
  }
  for (const BlameRow& row : profile.blame) {
    if (!out) break;
    out << json_text(blame_json(profile, row)) << '\n';
  }
  for (const ThreadLedger& thread : profile.thread_ledgers.threads()) {
    if (!out) break;
    out << json_text(thread_ledger_json(thread)) << '\n';
  }
  if (profile.thread_ledgers.count() != 0) {
    out << json_text(other_threads_json(profile.thread_ledgers)) << '\n';
  }
  out << json_text(ledger_json(profile.ledger)) << '\n';
  return flush_output(out);
}

}  // namespace labelscope::cli
