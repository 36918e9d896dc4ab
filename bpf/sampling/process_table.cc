#include "bpf/sampling/process_table.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "labelscope/saved_pointer.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

// A zombie hears signals, too, and so does a process whose threads all are on their way out. A
// process whose first thread alone has ended goes on.
bool is_over(Pid pid) {
  if (kill(raw(pid), 0) != 0 && errno == ESRCH) return true;
  std::error_code gone;
  const std::string folder = "/proc/" + std::to_string(raw(pid)) + "/task";
  std::filesystem::directory_iterator thread(folder, gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
    const auto stat = read_thread_stat(thread->path().string() + "/stat");
    if (stat && !stat->is_ending()) return false;
  }
  // What cannot be looked at may run.
  return !gone || gone == std::errc::no_such_file_or_directory;
}

Error ended(Pid pid) {
  return {ErrorCode::kVanished, "process " + std::to_string(raw(pid)) + " has ended"};
}

}  // namespace

Status ProcessTable::set(Pid pid, std::span<const ls_tls_recipe> recipes, bool until_exec) {
  if (recipes.size() > LS_MAX_PUBLISHERS) {
    return Error{ErrorCode::kLimit, "a process can have " + std::to_string(LS_MAX_PUBLISHERS) +
                                        " publishers of labels, not " +
                                        std::to_string(recipes.size())};
  }
  ls_process value{};
  value.until_exec = until_exec;
  value.pid = value.pid_again = static_cast<std::uint32_t>(raw(pid));
  value.recipes.count = static_cast<std::uint32_t>(recipes.size());
  std::ranges::copy(recipes, value.recipes.recipe);
  const auto bytes = std::as_bytes(recipes);
  value.plan = std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT: bytes are bytes

  auto current = object_.process(pid);
  if (!current && current.error().code != ErrorCode::kNotFound) return std::move(current).error();
  if (!current) return add(pid, value);
  auto exec_count = object_.exec_count(pid);
  if (!exec_count) {
    if (exec_count.error().code == ErrorCode::kNotFound) return ended(pid);
    return std::move(exec_count).error();
  }
  // An exec from here on does no harm: `exec_count` then no longer fits, so the BPF programs do not
  // use these recipes.
  value.exec_count = exec_counts_.try_emplace(raw(pid), *exec_count).first->second;
  value.parent = current->parent;
  value.first_pointer_known = knows_first_pointer(pid, value, &*current);
  if (value.exec_count != *exec_count) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(pid)) + " has executed another program meanwhile"};
  }
  Status status = object_.update_process(pid, value);
  return !status && status.error().code == ErrorCode::kNotFound ? Status(ended(pid)) : status;
}

Status ProcessTable::add(Pid pid, ls_process& value) {
  if (contains(pid)) return ended(pid);
  value.first_pointer_known = knows_first_pointer(pid, value, nullptr);
  if (Status status = object_.add_process(pid, value); !status) return status;
  if (is_over(pid)) {
    // The process ended before the entry was added, so on_exit() has not removed it. If it stayed,
    // the next process with this number would be sampled with it.
    Status removed = object_.remove_process(pid);
    return removed ? Status(ended(pid)) : removed;
  }
  exec_counts_[raw(pid)] = value.exec_count;
  return {};
}

Status ProcessTable::remove(Pid pid) {
  exec_counts_.erase(raw(pid));
  first_threads_.forget(pid);
  return object_.remove_process(pid);
}

std::vector<Pid> ProcessTable::pids() const {
  std::vector<Pid> all;
  for (const auto& [pid, exec_count] : exec_counts_) all.push_back(Pid{pid});
  return all;
}

bool ProcessTable::adopt(const ProcessRecord& event) {
  auto known = exec_counts_.find(raw(event.pid));
  switch (event.kind) {
    case ProcessRecord::Kind::kFork:
      exec_counts_[raw(event.pid)] = event.exec_count;
      return true;
    case ProcessRecord::Kind::kExec:
      if (known == exec_counts_.end() || known->second == event.exec_count) return false;
      known->second = event.exec_count;
      return true;
    case ProcessRecord::Kind::kExit:
      first_threads_.forget(event.pid);
      return exec_counts_.erase(raw(event.pid)) != 0;
  }
  return false;
}

std::vector<ProcessRecord> ProcessTable::missed() const {
  std::set<Pid> gone;
  for (Pid pid : pids()) {
    auto entry = object_.process(pid);
    if (!entry && entry.error().code == ErrorCode::kNotFound) gone.insert(pid);
  }
  std::vector<Present> present;
  for (Pid pid : object_.pids()) {
    auto entry = object_.process(pid);
    auto exec_count = object_.exec_count(pid);
    if (!entry || !exec_count) continue;  // it has ended since
    present.push_back({pid, static_cast<Pid>(entry->parent), *exec_count});
  }
  return missed(exec_counts_, gone, present);
}

std::vector<ProcessRecord> ProcessTable::missed(const std::unordered_map<int, std::uint32_t>& known,
                                                const std::set<Pid>& gone,
                                                std::span<const Present> present) {
  std::vector<ProcessRecord> events;
  events.reserve(gone.size());
  for (Pid pid : gone) events.push_back({.kind = ProcessRecord::Kind::kExit, .pid = pid});
  for (const Present& process : present) {
    const auto before = known.find(raw(process.pid));
    // A new process may have the number of one that has just ended.
    if (before == known.end() || gone.contains(process.pid)) {
      events.push_back(
          {.kind = ProcessRecord::Kind::kFork, .pid = process.pid, .parent = process.parent});
    } else if (before->second == process.exec_count) {
      continue;
    }
    events.push_back(
        {.kind = ProcessRecord::Kind::kExec, .pid = process.pid, .exec_count = process.exec_count});
  }
  return events;
}

// `current` is the entry in the map; for a forked child on_fork() has written it.
bool ProcessTable::knows_first_pointer(Pid pid, const ls_process& value,
                                       const ls_process* current) {
  const bool known = current != nullptr && current->exec_count == value.exec_count &&
                     current->first_pointer_known != 0;
  if (!kSavedPointerLags || (known && !first_threads_.has_asked(pid, value.exec_count))) {
    return true;
  }
  const std::span recipes(value.recipes.recipe, value.recipes.count);
  const bool wanted = std::ranges::any_of(recipes, [](const ls_tls_recipe& recipe) {
    return recipe.kind == LS_TP_OFFSET || recipe.kind == LS_DTV_SLOT;
  });
  if (!wanted) return known;
  return first_threads_.ask(pid, value.exec_count) || known;
}

void ProcessTable::ask_first_threads() {
  for (const auto& [pid, exec_count] : first_threads_.due()) {
    if (!first_threads_.ask(pid, exec_count)) continue;
    auto process = object_.process(pid);
    if (!process || process->exec_count != exec_count) continue;
    process->first_pointer_known = 1;
    // The process may have ended just now.
    static_cast<void>(object_.update_process(pid, *process));
  }
}

}  // namespace labelscope
