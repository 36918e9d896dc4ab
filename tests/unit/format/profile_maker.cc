#include "unit/format/profile_maker.h"

#include <algorithm>

namespace labelscope::test {
namespace {

template <class T>
Index append(std::vector<T>& table, T entry) {
  table.push_back(std::move(entry));
  return static_cast<Index>(table.size() - 1);
}

}  // namespace

ProfileMaker::ProfileMaker() {
  profile.tool_version = "1.2.3";
  profile.event = "cpu-clock";
  profile.backend = "bpf";
  profile.call_graph = "fp";
  profile.command_line = "labelscope record -p 100";
  profile.kernel_release = "6.1.0";
  profile.start_unix_ns = 1'700'000'000'123'456'789;
  profile.start_monotonic_ns = 5'000'000'000;
  profile.duration_ns = 2'000'000'000;
  profile.period_ns = 10'000'000;
}

Index ProfileMaker::process(int pid, std::string comm, std::vector<std::string> publishers) {
  return append(profile.processes, {Pid{pid}, std::move(comm), std::move(publishers), {}, {}});
}

Index ProfileMaker::thread(int pid, int tid, std::string name) {
  // The last process of this number is meant.
  const auto process = std::find_if(profile.processes.rbegin(), profile.processes.rend(),
                                    [&](const cli::Process& one) { return raw(one.pid) == pid; });
  const Index owner =
      process == profile.processes.rend()
          ? this->process(pid, {}, {})
          : static_cast<Index>(profile.processes.rend() - process - 1);
  return append(profile.threads, {owner, Tid{tid}, std::move(name), cli::kNoIndex});
}

Index ProfileMaker::module(cli::ProfileModule::Kind kind, std::string path, Address start,
                           Address end) {
  cli::ProfileModule module;
  module.kind = kind;
  module.path = std::move(path);
  module.start = start;
  module.end = end;
  return append(profile.modules, std::move(module));
}

Index ProfileMaker::location(Index module, Address address, std::vector<std::string> functions) {
  cli::Location location{module, address, {}};
  for (std::string& function : functions)
    location.lines.push_back({std::move(function), {}, {}, 0});
  return append(profile.locations, std::move(location));
}

Index ProfileMaker::stack(std::vector<Index> leaf_first) {
  return append(profile.stacks, {std::move(leaf_first), LS_STACK_ROOT});
}

Index ProfileMaker::label_set(LabelSet set) { return append(profile.label_sets, std::move(set)); }

Index ProfileMaker::labels(const std::vector<std::pair<std::string, std::string>>& pairs) {
  LabelSet set;
  for (const auto& [key, value] : pairs) set.push_back({key, value, 0});
  return label_set(std::move(set));
}

cli::SampleRow& ProfileMaker::sample(Index thread, Index stack, Index label_set, unsigned outcome,
                                     unsigned flags) {
  cli::SampleRow row;
  row.time_ns = profile.start_monotonic_ns + profile.rows.size() * profile.period_ns;
  row.thread = thread;
  row.stack = stack;
  row.label_set = label_set;
  row.outcome = static_cast<std::uint8_t>(outcome);
  row.flags = static_cast<std::uint16_t>(flags);
  profile.rows.push_back(row);
  return profile.rows.back();
}

cli::Profile weighed(cli::Profile profile, std::uint64_t ns_each) {
  for (cli::SampleRow& row : profile.rows) {
    if (row.weight_ns == 0) row.weight_ns = row.count * ns_each;
    if (row.thread < profile.threads.size()) profile.threads[row.thread].account = row.thread;
  }
  return profile;
}

SmallProfile::SmallProfile() {
  process(100, "shop", {"/opt/shop/libshop.so"});
  shop_thread = thread(100, 101, "worker");
  main_module = module(cli::ProfileModule::Kind::kFile, "/opt/shop/shop", 0x400000, 0x500000);
  work_stack =
      stack({location(main_module, 0x401000, {"work"}), location(main_module, 0x402000, {"main"})});
  no_labels = label_set(LabelSet{});
}

cli::SampleRow& SmallProfile::labelled(
    const std::vector<std::pair<std::string, std::string>>& pairs) {
  return sample(shop_thread, work_stack, labels(pairs),
                pairs.empty() ? LS_UNLABELLED : LS_LABELLED);
}

}  // namespace labelscope::test
