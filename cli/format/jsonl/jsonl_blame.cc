#include "cli/format/jsonl/jsonl_blame.h"

#include <utility>

#include "cli/profile/blame.h"

namespace labelscope::cli {

Json blame_json(const BlameRow& row) {
  Json line{{"type", "blame"},
            {"pid", raw(row.pid)},
            {"labels", index_json(row.label_set)},
            {"outcome", row.outcome},
            {"value", row.value},
            {"time_ns", row.time_ns},
            {"count", row.count},
            {"by", blame_kind_name(row.by.kind)}};
  if (row.by.kind == LS_BLAME_THREAD) {
    line["by_pid"] = raw(row.by.pid);
    line["by_labels"] = index_json(row.by.label_set);
    line["by_outcome"] = row.by.outcome;
  } else if (row.by.kind == LS_BLAME_PROCESS) {
    line["by_name"] = bytes_json(row.by.name);
  }
  return line;
}

std::string_view take_blame(Fields& fields, Profile& profile,
                            const std::vector<std::uint8_t>& outcomes, ReadBudget& budget) {
  const auto outcome_of = [&](std::string_view name) {
    const auto number = fields.small<std::uint8_t>(name);
    return number < outcomes.size() ? outcomes[number] : std::uint8_t{LS_UNREADABLE_MALFORMED};
  };
  BlameRow row;
  row.pid = Pid{fields.small<std::int32_t>("pid")};
  row.label_set = fields.reference("labels", profile.label_sets.size());
  row.outcome = outcome_of("outcome");
  row.value = fields.small<std::uint8_t>("value");
  row.time_ns = fields.number("time_ns");
  row.count = fields.number("count");
  // A kind that is not known here is as good as unknown.
  row.by.kind = find_blame_kind(fields.bytes("by")).value_or(LS_BLAME_UNKNOWN);
  if (row.by.kind == LS_BLAME_THREAD) {
    row.by.pid = Pid{fields.small<std::int32_t>("by_pid")};
    row.by.label_set = fields.reference("by_labels", profile.label_sets.size());
    row.by.outcome = outcome_of("by_outcome");
  } else if (row.by.kind == LS_BLAME_PROCESS) {
    row.by.name = fields.bytes("by_name");
  }
  if (!fields.good() || row.value >= profile.values.size()) return "blame with odd fields";
  budget.keep(2 * sizeof row + row.by.name.size());
  profile.blame.push_back(std::move(row));
  return {};
}

}  // namespace labelscope::cli
