#include "cli/format/jsonl/jsonl_waits.h"

#include <cstddef>
#include <utility>

#include "cli/profile/blame.h"

namespace labelscope::cli {

namespace {

// What both kinds of lines have.
Json line_of(const Profile& profile, const char* type, const WaitGroup& group,
             std::uint64_t time_ns, std::uint64_t count) {
  return {{"type", type},
          {"process", index_json(group.process)},
          {"pid", raw(profile.pid_of(group.process))},
          {"labels", index_json(group.label_set)},
          {"outcome", group.outcome},
          {"value", group.value},
          {"time_ns", time_ns},
          {"count", count}};
}

std::uint8_t outcome_in(Fields& fields, std::string_view name,
                        const std::vector<std::uint8_t>& outcomes) {
  const auto number = fields.small<std::uint8_t>(name);
  return number < outcomes.size() ? outcomes[number] : std::uint8_t{LS_UNREADABLE_MALFORMED};
}

void take_line(Fields& fields, const Profile& profile, const std::vector<std::uint8_t>& outcomes,
               JsonlProcesses& processes, auto& row) {
  row.process = processes.of(fields, "process", "pid");
  row.label_set = fields.reference("labels", profile.label_sets.size());
  row.outcome = outcome_in(fields, "outcome", outcomes);
  row.value = fields.small<std::uint8_t>("value");
  row.time_ns = fields.number("time_ns");
  row.count = fields.number("count");
}

}  // namespace

Json waits_json(const Profile& profile, const WaitRow& row) {
  std::size_t last = row.lengths.size();
  while (last > 0 && row.lengths[last - 1] == 0) --last;
  Json line = line_of(profile, "waits", row, row.time_ns, row.count);
  line["lengths"] = std::vector<std::uint64_t>(
      row.lengths.begin(), row.lengths.begin() + static_cast<std::ptrdiff_t>(last));
  return line;
}

Json blame_json(const Profile& profile, const BlameRow& row) {
  Json line = line_of(profile, "blame", row, row.time_ns, row.count);
  line["by"] = blame_kind_name(row.by.kind);
  if (is_blamed_thread(row.by.kind)) {
    line["by_process"] = index_json(row.by.process);
    line["by_pid"] = raw(profile.pid_of(row.by.process));
    line["by_labels"] = index_json(row.by.label_set);
    line["by_outcome"] = row.by.outcome;
  } else if (row.by.kind == LS_BLAME_PROCESS) {
    line["by_name"] = bytes_json(row.by.name);
  }
  return line;
}

std::string_view take_waits(Fields& fields, Profile& profile,
                            const std::vector<std::uint8_t>& outcomes, JsonlProcesses& processes,
                            ReadBudget& budget) {
  WaitRow row;
  take_line(fields, profile, outcomes, processes, row);
  std::size_t bucket = 0;
  fields.each("lengths", [&](const Json& number) {
    if (bucket < row.lengths.size() && number.is_number_unsigned()) {
      row.lengths[bucket] = number.get<std::uint64_t>();
    }
    ++bucket;
  });
  if (!fields.good() || row.value >= profile.values.size() || bucket > row.lengths.size()) {
    return "waits with odd fields";
  }
  budget.keep(sizeof row);
  profile.waits.push_back(row);
  return {};
}

std::string_view take_blame(Fields& fields, Profile& profile,
                            const std::vector<std::uint8_t>& outcomes, JsonlProcesses& processes,
                            ReadBudget& budget) {
  BlameRow row;
  take_line(fields, profile, outcomes, processes, row);
  // A kind that is not known here is as good as unknown.
  row.by.kind = find_blame_kind(fields.bytes("by")).value_or(LS_BLAME_UNKNOWN);
  if (is_blamed_thread(row.by.kind)) {
    row.by.process = processes.of(fields, "by_process", "by_pid");
    row.by.label_set = fields.reference("by_labels", profile.label_sets.size());
    row.by.outcome = outcome_in(fields, "by_outcome", outcomes);
  } else if (row.by.kind == LS_BLAME_PROCESS) {
    row.by.name = fields.bytes("by_name");
  }
  if (!fields.good() || row.value >= profile.values.size()) return "blame with odd fields";
  budget.keep(2 * sizeof row + row.by.name.size());
  profile.blame.push_back(std::move(row));
  return {};
}

}  // namespace labelscope::cli
