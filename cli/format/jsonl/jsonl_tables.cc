#include "cli/format/jsonl/jsonl_tables.h"

#include <string>
#include <utility>

#include "cli/format/common/ledger_text.h"

namespace labelscope::cli {

Process read_process(Fields& fields, ReadBudget& budget) {
  Process made;
  made.pid = Pid{fields.small<std::int32_t>("pid")};
  made.comm = fields.bytes("comm");
  fields.each("publishers", [&](const Json& path) {
    if (budget.keep(2 * sizeof(std::string))) made.publishers.push_back(fields.bytes_of(path));
  });
  fields.each("attributes", [&](const Json& element) {
    Fields attribute(element);
    budget.keep(4 * sizeof(std::string));
    made.attributes.push_back({attribute.bytes("key"), attribute.bytes("value")});
    if (!attribute.good()) fields.spoil();
  });
  return made;
}

ProfileModule read_module(Fields& fields) {
  ProfileModule made;
  const std::string kind = fields.bytes("kind");
  made.kind = kind == "file"     ? ProfileModule::Kind::kFile
              : kind == "kernel" ? ProfileModule::Kind::kKernel
                                 : ProfileModule::Kind::kUnknown;
  made.path = fields.bytes("path");
  made.build_id = fields.bytes("build_id");
  made.start = fields.address("start");
  made.end = fields.address("end");
  made.file_offset = fields.address("file_offset");
  made.load_bias = fields.address("load_bias");
  made.symbol_problem = fields.bytes("symbol_problem");
  return made;
}

Location read_location(Fields& fields, std::size_t modules, ReadBudget& budget) {
  Location made;
  made.module = fields.reference("module", modules);
  made.address = fields.address("address");
  if (fields.yes("by_frame_pointer")) made.kind = LS_FRAME_CODE_BY_FP;
  fields.each("lines", [&](const Json& element) {
    Fields line(element);
    SourceLine source{line.bytes("function"), line.bytes("system_name"), line.bytes("file"),
                      line.small<std::int32_t>("line")};
    if (!line.good()) fields.spoil();
    budget.keep(2 * sizeof source + source.function.size() + source.system_name.size() +
                 source.file.size());
    made.lines.push_back(std::move(source));
  });
  return made;
}

Stack read_stack(Fields& fields, const std::vector<Location>& locations, ReadBudget& budget) {
  Stack made;
  fields.each("locations", [&](const Json& element) {
    const Index location = fields.reference_of(element, locations.size());
    if (location != kNoIndex) made.frames.push_back(location);
  });
  budget.keep_stack(made.frames, locations);
  const std::string end = fields.bytes("end");
  if (end == kUnknownStackEnd) return made;
  unsigned ours = LS_STACK_NOT_WANTED;
  while (ours < LS_STACK_END_COUNT && stack_end_name(static_cast<ls_stack_end>(ours)) != end)
    ++ours;
  // An end that is not known here counts as not reaching the root.
  made.end = ours < LS_STACK_END_COUNT ? static_cast<ls_stack_end>(ours) : LS_STACK_NO_WAY_ON;
  return made;
}

LabelSet read_label_set(Fields& fields, ReadBudget& budget) {
  LabelSet made;
  fields.each("labels", [&](const Json& element) {
    Fields label(element);
    made.push_back(
        {label.bytes("key"), label.bytes("value"), label.small<std::uint8_t>("publisher")});
    budget.keep(2 * sizeof(Label) + made.back().key.size() + made.back().value.size());
    if (!label.good()) fields.spoil();
  });
  return made;
}

Ledger read_ledger(Fields& fields) {
  Ledger ledger;
  ledger.taken = fields.number("taken");
  ledger.dropped = fields.number("dropped");
  ledger.written = fields.number("written");
  ledger.truncated = fields.number("truncated");
  if (const Json* counts = fields.find("outcomes"); counts != nullptr) {
    Fields outcomes(*counts);
    for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i)
      ledger.outcomes[i] = outcomes.number(outcome_name(i));
    if (!outcomes.good()) fields.spoil();
  }
  if (const Json* times = fields.find("time"); times != nullptr) {
    Fields time(*times);
    ledger.time = {.attributed_ns = time.number("attributed_ns"),
                   .unsampled_ns = time.number("unsampled_ns"),
                   .lost_ns = time.number("lost_ns"),
                   .twice_ns = time.number("twice_ns"),
                   .missing_ns = time.number("missing_ns"),
                   .waits_twice_ns = time.number("waits_twice_ns"),
                   .waits_missing_ns = time.number("waits_missing_ns")};
    if (!time.good()) fields.spoil();
  }
  fields.each("counters", [&](const Json& element) {
    Fields counter(element);
    ledger.set_named(counter.bytes("name"), counter.number("count"));
    if (!counter.good()) fields.spoil();
  });
  return ledger;
}

}  // namespace labelscope::cli
