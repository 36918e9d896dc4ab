// The lossless recording, one JSON object a line: docs/recording-format.md says what each line
// means.
//
// nlohmann's JSON writes every line that holds strings. Sample lines hold only numbers and come in
// millions: those are put together here.
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/format/format.h"
#include "cli/format/json_values.h"
#include "cli/format/row_labels.h"
#include "cli/format/rows.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

// Keeps the order of the fields, so that "type" comes first.
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json index_json(Index index) { return index == kNoIndex ? Json(nullptr) : Json(index); }

Json line_json(std::string_view type) { return Json{{"type", type}}; }

Json definition_json(std::string_view type, std::size_t id) {
  Json line = line_json(type);
  line["id"] = id;
  return line;
}

Json header_json(const Profile& profile) {
  Json line = line_json("header");
  line["format"] = "labelscope-recording";
  line["version"] = kVersion;
  line["tool_version"] = bytes_json(profile.tool_version);
  line["event"] = bytes_json(profile.event);
  line["mode"] = bytes_json(profile.mode);
  line["backend"] = bytes_json(profile.backend);
  line["call_graph"] = bytes_json(profile.call_graph);
  line["command_line"] = bytes_json(profile.command_line);
  line["kernel_release"] = bytes_json(profile.kernel_release);
  line["start_unix_ns"] = profile.start_unix_ns;
  line["start_monotonic_ns"] = profile.start_monotonic_ns;
  line["duration_ns"] = profile.duration_ns;
  line["period_ns"] = profile.period_ns;
  Json outcomes = Json::array();
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) outcomes.push_back(outcome_name(i));
  line["outcomes"] = std::move(outcomes);
  Json flags = Json::array();
  for (unsigned bit = 0; bit < kSampleFlagCount; ++bit) flags.push_back(sample_flag_name(bit));
  line["flags"] = std::move(flags);
  return line;
}

Json process_json(const Process& process, std::size_t id) {
  Json line = definition_json("process", id);
  line["pid"] = raw(process.pid);
  line["comm"] = bytes_json(process.comm);
  Json publishers = Json::array();
  for (const std::string& path : process.publishers) publishers.push_back(bytes_json(path));
  line["publishers"] = std::move(publishers);
  return line;
}

Json thread_json(const Thread& thread, std::size_t id) {
  Json line = definition_json("thread", id);
  line["pid"] = raw(thread.pid);
  line["tid"] = raw(thread.tid);
  line["name"] = bytes_json(thread.name);
  line["account"] = index_json(thread.account);
  return line;
}

Json module_json(const ProfileModule& module, std::size_t id) {
  Json line = definition_json("module", id);
  line.update(module_fields(module));
  return line;
}

Json location_json(const Location& location, std::size_t id) {
  Json line = definition_json("location", id);
  line["module"] = index_json(location.module);
  line["address"] = address_json(location.address);
  line["lines"] = lines_json(location);
  return line;
}

Json stack_json(const Stack& stack, std::size_t id) {
  Json line = definition_json("stack", id);
  line["locations"] = stack.frames;
  return line;
}

Json label_set_json(const LabelSet& set, std::size_t id) {
  Json line = definition_json("labels", id);
  Json labels = Json::array();
  for (const Label& label : set) {
    labels.push_back(Json{{"key", bytes_json(label.key)},
                          {"value", bytes_json(label.value)},
                          {"publisher", label.publisher}});
  }
  line["labels"] = std::move(labels);
  return line;
}

Json ledger_json(const Ledger& ledger) {
  Json line = line_json("ledger");
  line["taken"] = ledger.taken;
  Json outcomes = Json::object();
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    outcomes[std::string(outcome_name(i))] = ledger.outcomes[i];
  }
  line["outcomes"] = std::move(outcomes);
  line["dropped"] = ledger.dropped;
  line["written"] = ledger.written;
  line["truncated"] = ledger.truncated;
  line["time"] = Json{{"attributed_ns", ledger.time.attributed_ns},
                      {"unsampled_ns", ledger.time.unsampled_ns},
                      {"lost_ns", ledger.time.lost_ns}};
  Json counters = Json::array();
  for (const auto& [name, count] : ledger.counters) {
    counters.push_back(Json{{"name", bytes_json(name)}, {"count", count}});
  }
  line["counters"] = std::move(counters);
  return line;
}

void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end.ptr);
}

void append_index(std::string& out, Index index) {
  if (index == kNoIndex) {
    out += "null";
  } else {
    append_number(out, index);
  }
}

void append_sample(std::string& out, const SampleRow& row) {
  out += R"({"type":"sample","time_ns":)";
  append_number(out, row.time_ns);
  out += R"(,"thread":)";
  append_index(out, row.thread);
  out += R"(,"stack":)";
  append_index(out, row.stack);
  out += R"(,"labels":)";
  append_index(out, row.label_set);
  out += R"(,"count":)";
  append_number(out, row.count);
  out += R"(,"weight_ns":)";
  append_number(out, row.weight_ns);
  out += R"(,"outcome":)";
  append_number(out, row.outcome);
  out += R"(,"flags":)";
  append_number(out, row.flags);
  out += "}\n";
}

template <class Table, class ToJson>
void write_table(std::ostream& out, const Table& table, ToJson to_json) {
  for (std::size_t id = 0; id < table.size() && out; ++id) {
    out << to_json(table[id], id).dump() << '\n';
  }
}

void write_samples(std::ostream& out, const std::vector<SampleRow>& rows) {
  constexpr std::size_t kPieceBytes = 64UL * 1024;
  std::string piece;
  for (const SampleRow& row : rows) {
    append_sample(piece, row);
    if (piece.size() < kPieceBytes) continue;
    out << piece;
    piece.clear();
    if (!out) return;
  }
  out << piece;
}

}  // namespace

Status render_jsonl(const Profile& profile, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  out << header_json(profile).dump() << '\n';
  write_table(out, profile.processes, process_json);
  write_table(out, profile.threads, thread_json);
  write_table(out, profile.modules, module_json);
  write_table(out, profile.locations, location_json);
  write_table(out, profile.stacks, stack_json);
  write_table(out, profile.label_sets, label_set_json);
  write_samples(out, profile.rows);
  out << ledger_json(profile.ledger).dump() << '\n';
  return flush_output(out);
}

}  // namespace labelscope::cli
