#include "cli/format/jsonl/jsonl_threads.h"

#include <cstdint>

namespace labelscope::cli {
namespace {

// The residue follows from the other times. It is there for people who look at the line.
void add_times(Json& line, const ThreadLedger& times) {
  line["wall_ns"] = times.wall_ns;
  line["cpu_ns"] = times.cpu_ns;
  line["runnable_ns"] = times.runnable_ns;
  line["waiting_ns"] = times.waiting_ns;
  line["blocked_ns"] = times.blocked_ns;
  line["open_ns"] = times.open_ns;
  line["residue_ns"] = times.residue_ns();
  line["waits"] = times.waits;
}

ThreadLedger take_times(Fields& fields) {
  ThreadLedger times;
  times.wall_ns = fields.number("wall_ns");
  times.cpu_ns = fields.number("cpu_ns");
  times.runnable_ns = fields.number("runnable_ns");
  times.waiting_ns = fields.number("waiting_ns");
  times.blocked_ns = fields.number("blocked_ns");
  times.open_ns = fields.number("open_ns");
  times.waits = fields.number("waits");
  return times;
}

}  // namespace

Json thread_ledger_json(const ThreadLedger& thread) {
  Json line = {{"type", "thread_ledger"},
               {"process", index_json(thread.entry)},
               {"pid", raw(thread.process.pid)},
               {"tid", raw(thread.tid)}};
  add_times(line, thread);
  return line;
}

Json other_threads_json(const ThreadLedgers& ledgers) {
  Json line = {{"type", "other_threads"}, {"threads", ledgers.other_count()}};
  add_times(line, ledgers.others());
  return line;
}

std::string_view take_thread_ledger(Fields& fields, Profile& profile, JsonlProcesses& processes) {
  ThreadLedger thread = take_times(fields);
  thread.process.pid = Pid{fields.small<std::int32_t>("pid")};
  // There was no reference at first.
  thread.entry = fields.find("process") != nullptr
                     ? fields.reference("process", profile.processes.size())
                     : processes.only_one_of(thread.process.pid);
  thread.tid = Tid{fields.small<std::int32_t>("tid")};
  if (!fields.good()) return "the times of a thread with odd fields";
  profile.thread_ledgers.add(thread);
  return {};
}

std::string_view take_other_threads(Fields& fields, Profile& profile) {
  const ThreadLedger times = take_times(fields);
  const std::uint64_t threads = fields.number("threads");
  if (!fields.good()) return "the times of threads with odd fields";
  profile.thread_ledgers.add_others(times, threads);
  return {};
}

}  // namespace labelscope::cli
