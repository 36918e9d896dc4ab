// The maps of processes: which are recorded, by which recipes, how many samples they have, and
// which of their threads have ended.
#include "bpf/load/bpf_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "bpf/load/loading.h"
#include "bpf/load/map_entries.h"
#include "bpf/load/preset_programs.h"

namespace labelscope {
namespace {

template <class T>
Result<T> read_entry(int map, Pid pid) {
  T value{};
  if (bpf_map_lookup_elem(map, &pid, &value) == 0) return value;
  if (errno == ENOENT) {
    return Error{ErrorCode::kNotFound, "process " + std::to_string(raw(pid)) + " is not sampled"};
  }
  return system_error(errno, "cannot read the map of processes");
}

template <class Key>
std::vector<ls_ending> endings_in(int map) {
  std::vector<ls_ending> all;
  for (const auto& [key, ending] : entries_of<Key, ls_ending>(map)) all.push_back(ending);
  return all;
}

}  // namespace

Result<ls_process> BpfObject::process(Pid pid) const {
  return read_entry<ls_process>(processes_fd_, pid);
}

Result<std::uint32_t> BpfObject::life(Pid pid) const {
  return read_entry<std::uint32_t>(lives_fd_, pid);
}

// A child that on_fork() adds meanwhile has the recipes of a process that is there.
Status BpfObject::put_presets(std::span<const ls_tls_recipe> recipes, const PresetPlans& presets) {
  Status status = put_preset_programs(presets_fd_, recipes, presets);
  if (status || status.error().code != ErrorCode::kLimit) return status;
  std::set<std::uint32_t> used;
  add_preset_numbers(recipes, used);
  for (const Pid pid : pids()) {
    const auto other = this->process(pid);
    if (other) add_preset_numbers({other->recipes.recipe, other->recipes.count}, used);
  }
  keep_preset_programs(presets_fd_, used);
  return put_preset_programs(presets_fd_, recipes, presets);
}

Status BpfObject::add_process(Pid pid, const ls_process& process) {
  // This comes before all: what is not noted here is not looked up in the other maps.
  const std::uint32_t remainder = static_cast<std::uint32_t>(raw(pid)) % LS_PID_REMAINDERS;
  const std::uint32_t may_be = 1;
  if (bpf_map_update_elem(map_fd(object_, "maybe_recorded"), &remainder, &may_be, BPF_ANY) != 0) {
    return system_error(errno, "cannot write to the map of processes");
  }
  // The life comes before the process itself: a sampled process always has one.
  if (bpf_map_update_elem(lives_fd_, &pid, &process.life, BPF_ANY) == 0 &&
      bpf_map_update_elem(processes_fd_, &pid, &process, BPF_ANY) == 0) {
    return {};
  }
  if (errno == E2BIG) {
    return Error{ErrorCode::kLimit,
                 "no more processes can be sampled at the same time; the limit "
                 "is the option max_processes"};
  }
  return system_error(errno, "cannot write to the map of processes");
}

Status BpfObject::update_process(Pid pid, const ls_process& process) {
  if (bpf_map_update_elem(processes_fd_, &pid, &process, BPF_EXIST) == 0) return {};
  if (errno == ENOENT) {
    return Error{ErrorCode::kNotFound, "process " + std::to_string(raw(pid)) + " has ended"};
  }
  return system_error(errno, "cannot write to the map of processes");
}

Status BpfObject::remove_process(Pid pid) {
  for (int map : {processes_fd_, lives_fd_}) {
    if (bpf_map_delete_elem(map, &pid) != 0 && errno != ENOENT) {
      return system_error(errno, "cannot delete from the map of processes");
    }
  }
  return {};
}

std::vector<Pid> BpfObject::pids() const {
  std::vector<Pid> all;
  Pid next{};
  for (int error = bpf_map_get_next_key(processes_fd_, nullptr, &next); error == 0;
       error = bpf_map_get_next_key(processes_fd_, &all.back(), &next)) {
    all.push_back(next);
  }
  return all;
}

Result<ls_counters> BpfObject::counters() const {
  ls_counters total{};
  for (std::uint32_t entry = 0; entry < LS_COUNTERS_ENTRIES; ++entry) {
    auto part = counters(entry);
    if (!part) return part;
    for (unsigned i = 0; i < LS_COUNTER_COUNT; ++i) total.value[i] += part->value[i];
  }
  return total;
}

std::vector<std::uint64_t> BpfObject::samples_by_cpu() const {
  std::vector<std::uint64_t> all;
  const auto each = of_each_cpu<ls_counters>(counters_fd_, LS_PROGRAM_EVENT);
  if (!each) return all;
  for (const ls_counters& cpu : *each) {
    all.push_back(cpu.value[LS_COUNT_TAKEN] + cpu.value[LS_COUNT_FOREIGN] +
                  cpu.value[LS_COUNT_OTHER_NAMESPACE] + cpu.value[LS_COUNT_NO_SCRATCH]);
  }
  return all;
}

Result<ls_counters> BpfObject::counters(std::uint32_t entry) const {
  auto each = of_each_cpu<ls_counters>(counters_fd_, entry);
  if (!each) return std::move(each).error();
  ls_counters sum{};
  for (const ls_counters& cpu : *each) {
    for (unsigned i = 0; i < LS_COUNTER_COUNT; ++i) sum.value[i] += cpu.value[i];
  }
  return sum;
}

std::vector<ls_ending> BpfObject::endings() const { return endings_in<std::uint64_t>(endings_fd_); }

std::vector<ls_ending> BpfObject::unsent_ends() const {
  return endings_in<ls_end_key>(unsent_ends_fd_);
}

std::vector<ls_ending> BpfObject::take_unsent_ends() {
  std::vector<ls_ending> all;
  for (const auto& [key, ending] : entries_of<ls_end_key, ls_ending>(unsent_ends_fd_)) {
    if (bpf_map_delete_elem(unsent_ends_fd_, &key) == 0) all.push_back(ending);
  }
  return all;
}

}  // namespace labelscope
