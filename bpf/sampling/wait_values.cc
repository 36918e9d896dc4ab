#include "bpf/sampling/wait_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace labelscope {
namespace {

std::uint64_t labels_of(std::uint64_t number) {
  const bool known = number < LS_OUTCOME_COUNT || number >= LS_FIRST_LABEL_NUMBER;
  return known ? number : kUnknownLabels;
}

WaitTotal total_of(const ls_wait_key& key) {
  WaitTotal made;
  made.process = {static_cast<Pid>(key.pid), key.life};
  made.kind = kKindOfPart[key.part];
  made.system_call = key.system_call;
  made.labels = labels_of(key.labels);
  return made;
}

}  // namespace

std::size_t part_of_kind(ls_sample_kind kind) {
  return static_cast<std::size_t>(std::ranges::find(kKindOfPart, kind) - kKindOfPart);
}

std::vector<WaitTotal> totals_of(std::span<const std::pair<ls_wait_key, ls_wait_total>> entries) {
  std::vector<WaitTotal> all;
  for (const auto& [key, total] : entries) {
    WaitTotal made = total_of(key);
    made.time_ns = total.ns;
    made.count = total.count;
    std::ranges::copy(total.log2, made.lengths.begin());
    all.push_back(made);
  }
  return all;
}

void add_held(const ls_off_cpu& thread, std::vector<WaitTotal>& all) {
  const ls_held_waits& held = thread.held;
  for (std::uint32_t part = 0; part < LS_WAIT_PARTS; ++part) {
    if (held.count[part] == 0) continue;
    ls_wait_key key{};
    key.pid = thread.pid;
    key.life = thread.life;
    key.part = part;
    key.system_call = held.system_call;
    key.labels = held.labels;
    WaitTotal made = total_of(key);
    made.time_ns = held.ns[part];
    made.count = held.count[part];
    made.lengths[ls_wait_bucket(held.ns[part] / held.count[part])] = held.count[part];
    all.push_back(made);
  }
}

std::vector<BlameTotal> blame_of(std::span<const std::pair<ls_blame_key, ls_blame_total>> entries) {
  std::vector<BlameTotal> all;
  for (const auto& [key, total] : entries) {
    BlameTotal made;
    made.wait = total_of(key.wait);
    made.wait.time_ns = total.ns;
    made.wait.count = total.count;
    made.kind = static_cast<ls_blame_kind>(key.who.kind);
    made.labels = labels_of(key.who.labels);
    if (made.kind == LS_BLAME_PROCESS) {
      const auto* comm = reinterpret_cast<const char*>(key.who.comm);
      made.name.assign(comm, strnlen(comm, sizeof key.who.comm));
    } else if (made.kind == LS_BLAME_THREAD || made.kind == LS_BLAME_OWNER) {
      made.process = {static_cast<Pid>(key.who.pid), key.who.life};
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace labelscope
