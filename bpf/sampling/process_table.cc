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

#include "base/clock.h"
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

// A process that was set has the life that it had then, and records of those before may still come.
bool begins_after(std::uint32_t life, std::uint32_t before) {
  return static_cast<std::int32_t>(life - before) > 0;
}

Error ended(Pid pid) {
  return {ErrorCode::kVanished, "process " + std::to_string(raw(pid)) + " has ended"};
}

Result<ls_process> value_of(Pid pid, std::span<const ls_tls_recipe> recipes) {
  if (recipes.size() > LS_MAX_PUBLISHERS) {
    return Error{ErrorCode::kLimit, "a process can have " + std::to_string(LS_MAX_PUBLISHERS) +
                                        " publishers of labels, not " +
                                        std::to_string(recipes.size())};
  }
  ls_process value{};
  value.pid = value.pid_again = static_cast<std::uint32_t>(raw(pid));
  value.recipes.count = static_cast<std::uint32_t>(recipes.size());
  std::ranges::copy(recipes, value.recipes.recipe);
  const auto bytes = std::as_bytes(recipes);
  value.plan = std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT: bytes are bytes
  return value;
}

}  // namespace

Status ProcessTable::set(Pid pid, std::span<const ls_tls_recipe> recipes,
                         const PresetPlans& presets, Which which) {
  auto value = value_of(pid, recipes);
  if (!value) return std::move(value).error();
  if (Status put = object_.put_presets(recipes, presets); !put) return put;
  value->until_exec = which == Which::kUntilExec;
  const auto current = object_.process(pid);
  if (current) return update(pid, *value, *current);
  if (current.error().code != ErrorCode::kNotFound) return current.error();
  return which == Which::kKnown ? Status(ended(pid)) : add(pid, *value);
}

Status ProcessTable::update(Pid pid, ls_process& value, const ls_process& current) {
  auto life = object_.life(pid);
  if (!life) {
    if (life.error().code == ErrorCode::kNotFound) return ended(pid);
    return std::move(life).error();
  }
  // An exec from here on does no harm: `life` then no longer fits, so the BPF programs do not
  // use these recipes.
  value.life = lives_.try_emplace(raw(pid), Lives{current.born, *life}).first->second.now;
  value.born = current.born;
  value.parent = current.parent;
  value.first_pointer_known = knows_first_pointer(pid, value, &current);
  if (value.life != *life) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(pid)) + " has executed another program meanwhile"};
  }
  Status status = object_.update_process(pid, value);
  return !status && status.error().code == ErrorCode::kNotFound ? Status(ended(pid)) : status;
}

Status ProcessTable::add(Pid pid, ls_process& value) {
  if (contains(pid)) return ended(pid);
  value.born = value.life = ls_life_at(monotonic_ns());
  value.first_pointer_known = knows_first_pointer(pid, value, nullptr);
  if (Status status = object_.add_process(pid, value); !status) return status;
  if (is_over(pid)) {
    // The process ended before the entry was added, so on_exit() has not removed it. If it stayed,
    // the next process with this number would be sampled with it.
    Status removed = object_.remove_process(pid);
    return removed ? Status(ended(pid)) : removed;
  }
  lives_[raw(pid)] = {value.born, value.life};
  return {};
}

Status ProcessTable::remove(Pid pid) {
  lives_.erase(raw(pid));
  first_threads_.forget(pid);
  return object_.remove_process(pid);
}

std::vector<Pid> ProcessTable::pids() const {
  std::vector<Pid> all;
  for (const auto& [pid, life] : lives_) all.push_back(Pid{pid});
  return all;
}

bool ProcessTable::adopt(const ProcessRecord& event) {
  auto known = lives_.find(raw(event.pid));
  switch (event.kind) {
    case ProcessRecord::Kind::kFork:
      // It may have been set, or found in the map, before its record was read.
      if (known == lives_.end() || known->second.born != event.life)
        lives_[raw(event.pid)] = {event.life, event.life};
      return true;
    case ProcessRecord::Kind::kExec:
      if (known == lives_.end() || !begins_after(event.life, known->second.now)) return false;
      known->second.now = event.life;
      return true;
    case ProcessRecord::Kind::kExit:
      first_threads_.forget(event.pid);
      return lives_.erase(raw(event.pid)) != 0;
  }
  return false;
}

std::vector<ProcessRecord> ProcessTable::missed() const {
  std::vector<Present> present;
  for (Pid pid : object_.pids()) {
    auto entry = object_.process(pid);
    auto life = object_.life(pid);
    if (!entry || !life) continue;  // it has ended since
    present.push_back({pid, static_cast<Pid>(entry->parent), {entry->born, *life}});
  }
  return missed(lives_, present);
}

std::vector<ProcessRecord> ProcessTable::missed(const std::unordered_map<int, Lives>& known,
                                                std::span<const Present> present) {
  std::vector<ProcessRecord> events;
  std::unordered_map<int, Lives> now;
  for (const Present& process : present) now[raw(process.pid)] = process.lives;
  // A new process may have the number of one that has ended.
  for (const auto& [pid, lives] : known) {
    const auto there = now.find(pid);
    if (there != now.end() && there->second.born == lives.born) continue;
    events.push_back({.kind = ProcessRecord::Kind::kExit, .pid = Pid{pid}, .life = lives.now});
  }
  for (const Present& process : present) {
    const auto before = known.find(raw(process.pid));
    const Lives lives = process.lives;
    const bool is_new = before == known.end() || before->second.born != lives.born;
    if (is_new) {
      events.push_back({.kind = ProcessRecord::Kind::kFork,
                        .pid = process.pid,
                        .parent = process.parent,
                        .life = lives.born});
    }
    if (lives.now == (is_new ? lives.born : before->second.now)) continue;
    events.push_back(
        {.kind = ProcessRecord::Kind::kExec, .pid = process.pid, .life = lives.now});
  }
  return events;
}

// `current` is the entry in the map; for a forked child on_fork() has written it.
bool ProcessTable::knows_first_pointer(Pid pid, const ls_process& value,
                                       const ls_process* current) {
  const bool known = current != nullptr && current->life == value.life &&
                     current->first_pointer_known != 0;
  if (!kSavedPointerLags || (known && !first_threads_.has_asked(pid, value.life))) {
    return true;
  }
  const std::span recipes(value.recipes.recipe, value.recipes.count);
  const bool wanted = std::ranges::any_of(recipes, [](const ls_tls_recipe& recipe) {
    return recipe.kind == LS_TP_OFFSET || recipe.kind == LS_DTV_SLOT;
  });
  if (!wanted) return known;
  return first_threads_.ask(pid, value.life) || known;
}

void ProcessTable::ask_first_threads() {
  for (const auto& [pid, life] : first_threads_.due()) {
    if (!first_threads_.ask(pid, life)) continue;
    auto process = object_.process(pid);
    if (!process || process->life != life) continue;
    process->first_pointer_known = 1;
    // The process may have ended just now.
    static_cast<void>(object_.update_process(pid, *process));
  }
}

}  // namespace labelscope
