// The maps of waits: threads that wait, and totals of waits and of blame.
#include "bpf/load/bpf_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <string>
#include <utility>

#include "bpf/load/loading.h"
#include "bpf/load/map_entries.h"

namespace labelscope {
namespace {

std::uint32_t generation_of(const ls_wait_key& key) { return key.generation; }
std::uint32_t generation_of(const ls_blame_key& key) {
  return key.wait.generation & ~LS_GENERATION_LATE;
}

// Reads all entries, a bucket at once: programs may add others meanwhile.
template <class Key, class Value>
std::vector<std::pair<Key, Value>> batches_of(int map) {
  constexpr std::uint32_t kAtOnce = 4096;
  std::vector<Key> keys(kAtOnce);
  std::vector<Value> values(kAtOnce);
  std::vector<std::pair<Key, Value>> all;
  std::uint32_t place = 0;
  for (bool first = true, more = true; more; first = false) {
    std::uint32_t count = kAtOnce;
    more = bpf_map_lookup_batch(map, first ? nullptr : &place, &place, keys.data(), values.data(),
                                &count, nullptr) == 0;
    if (!more && errno != ENOENT) break;  // ENOENT: these are the last ones
    for (std::uint32_t i = 0; i < count; ++i) all.emplace_back(keys[i], values[i]);
  }
  return all;
}

// Takes the entries of all other generations out.
template <class Key, class Value>
std::vector<std::pair<Key, Value>> take_entries(int map, std::uint32_t current) {
  auto all = batches_of<Key, Value>(map);
  std::erase_if(all, [&](const auto& one) { return generation_of(one.first) == current; });
  std::vector<Key> keys;
  keys.reserve(all.size());
  for (const auto& [key, value] : all) keys.push_back(key);
  auto count = static_cast<std::uint32_t>(keys.size());
  if (count != 0) bpf_map_delete_batch(map, keys.data(), &count, nullptr);
  return all;
}

}  // namespace

Status BpfObject::set_wait_unit(std::uint64_t unit_ns) {
  const std::uint32_t zero = 0;
  if (bpf_map_update_elem(map_fd(object_, "off_cpu_unit"), &zero, &unit_ns, BPF_ANY) == 0) {
    return {};
  }
  return system_error(errno, "cannot write the weight of waits");
}

Result<bool> BpfObject::add_waiting(Tid tid, const ls_off_cpu& thread) {
  if (bpf_map_update_elem(off_cpu_threads_fd_, &tid, &thread, BPF_NOEXIST) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno == E2BIG) return Error{ErrorCode::kLimit, "the map of threads is full"};
  return system_error(errno, "cannot write to the map of threads");
}

void BpfObject::forget_waiting(Tid tid, std::uint64_t left_ns) {
  ls_off_cpu thread{};
  if (bpf_map_lookup_elem(off_cpu_threads_fd_, &tid, &thread) != 0) return;
  if (thread.left_ns == left_ns) bpf_map_delete_elem(off_cpu_threads_fd_, &tid);
}

void BpfObject::forget_waits(Pid pid) {
  for (const auto& [tid, thread] : off_cpu_threads()) {
    if (thread.pid == static_cast<std::uint32_t>(raw(pid)))
      bpf_map_delete_elem(off_cpu_threads_fd_, &tid);
  }
}

std::vector<std::pair<Tid, ls_off_cpu>> BpfObject::off_cpu_threads() const {
  return batches_of<Tid, ls_off_cpu>(off_cpu_threads_fd_);
}

std::vector<std::pair<ls_wait_key, ls_wait_total>> BpfObject::wait_totals() const {
  return batches_of<ls_wait_key, ls_wait_total>(map_fd(object_, "wait_totals"));
}

std::vector<std::pair<ls_blame_key, ls_blame_total>> BpfObject::blame_totals() const {
  if (!blames_) return {};
  return batches_of<ls_blame_key, ls_blame_total>(map_fd(object_, "blame_totals"));
}

std::vector<std::pair<ls_wait_key, ls_wait_total>> BpfObject::take_wait_totals(
    std::uint32_t current) {
  return take_entries<ls_wait_key, ls_wait_total>(map_fd(object_, "wait_totals"), current);
}

std::vector<std::pair<ls_blame_key, ls_blame_total>> BpfObject::take_blame_totals(
    std::uint32_t current) {
  if (!blames_) return {};
  return take_entries<ls_blame_key, ls_blame_total>(map_fd(object_, "blame_totals"), current);
}

std::optional<std::uint64_t> BpfObject::late_labels(std::uint64_t number) const {
  std::uint64_t labels = 0;
  if (bpf_map_lookup_elem(map_fd(object_, "late_labels"), &number, &labels) != 0) return {};
  return labels;
}

void BpfObject::forget_late_labels(std::uint64_t number) {
  bpf_map_delete_elem(map_fd(object_, "late_labels"), &number);
}

Status BpfObject::set_wait_window(std::uint64_t window) {
  const std::uint32_t zero = 0;
  if (bpf_map_update_elem(map_fd(object_, "wait_window"), &zero, &window, BPF_ANY) == 0) return {};
  return system_error(errno, "cannot begin another window of waits");
}

void BpfObject::forget_thread(Tid tid, std::uint64_t begun_ns) {
  ls_off_cpu thread{};
  if (bpf_map_lookup_elem(off_cpu_threads_fd_, &tid, &thread) != 0) return;
  if (thread.account.begun_ns == begun_ns) bpf_map_delete_elem(off_cpu_threads_fd_, &tid);
}

std::vector<std::pair<Tid, ls_woken>> BpfObject::woken_threads() const {
  if (!blames_) return {};
  return batches_of<Tid, ls_woken>(map_fd(object_, "woken_threads"));
}

std::vector<std::pair<std::uint64_t, ls_published>> BpfObject::published_labels() const {
  if (!blames_) return {};
  auto all = batches_of<std::uint64_t, ls_published>(map_fd(object_, "label_numbers"));
  std::erase_if(all, [](const auto& entry) { return entry.first == entry.second.blame; });
  return all;
}

void BpfObject::forget_label_numbers(std::span<const std::uint64_t> numbers) {
  const int map = map_fd(object_, "label_numbers");
  for (const std::uint64_t number : numbers) bpf_map_delete_elem(map, &number);
}

Result<ls_totals_made> BpfObject::totals_made() const {
  auto each = of_each_cpu<ls_totals_made>(map_fd(object_, "totals_made"), 0);
  if (!each) return std::move(each).error();
  ls_totals_made sum{};
  for (const ls_totals_made& cpu : *each) {
    sum.waits += cpu.waits;
    sum.blame += cpu.blame;
    for (int i = 0; i < LS_WAIT_PARTS; ++i) sum.lost_ns[i] += cpu.lost_ns[i];
  }
  return sum;
}

}  // namespace labelscope
