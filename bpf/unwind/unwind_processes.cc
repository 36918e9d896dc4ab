#include "bpf/unwind/unwind_processes.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "process/code_mappings.h"
#include "unwind_table/copied_module.h"

namespace labelscope {
namespace {

using std::chrono::milliseconds;

// A BPF program that has found a list is done with it in microseconds. But a FORK record may be
// late by everything that the ring holds.
constexpr std::chrono::seconds kGrace{2};
// A process that keeps changing its mappings is read again so many times the time of one read after
// the last one, and after this time at least.
constexpr int kShareOfTime = 20;
constexpr milliseconds kLeastPause{20};
// A program loads its libraries in its first moments. In these it is read again at once whenever
// something is mapped, up to this often: most programs of a second would else end before their
// libraries are known.
constexpr milliseconds kFirstMoments{200};
constexpr unsigned kMostQuickLooks = 8;
// Work that could not be done is tried again after this time. While tables arrive, a list is not
// made anew more often than this, because the old ones take room for kGrace, unless one has come
// for want of which stacks end.
constexpr milliseconds kAgain{100};
// A file without a table that no process has loaded any more is remembered for this time.
constexpr std::chrono::seconds kForgetFile{60};

// So many files of a process are opened before it is sampled, and the rest of them a moment later.
constexpr std::size_t kMostFilesAtFirst = 128;

bool is_elf(const UniqueFd& fd) {
  char magic[SELFMAG];
  return ::pread(fd.get(), magic, sizeof magic, 0) == sizeof magic &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

bool is_loader_or_libc(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-");
}

bool is_still_mapped(const LiveProcess& process, const Mapping& mapping) {
  const auto now = process.mappings();
  return now && std::ranges::any_of(*now, [&](const Mapping& each) {
    return each.start == mapping.start && each.file == mapping.file;
  });
}

// The kernel maps the same vDSO into every process of this machine's own kind; so our own will do,
// and no process can have written into it.
UniqueFd own_vdso() {
  const Address start = getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return {};
  auto file = copy_module(*open_process_memory(static_cast<Pid>(::getpid())), start, "[vdso]");
  return file ? *std::move(file) : UniqueFd();
}

}  // namespace

std::uint64_t UnwindProcesses::add_file(UniqueFd fd, TableBuilder::Order order) {
  const std::uint64_t file = next_file_++;
  files_[file].unused_since = Clock::now();
  files_[file].is_asked_for = true;
  builder_.ask(file, std::move(fd), order);
  return file;
}

std::optional<std::uint64_t> UnwindProcesses::vdso() {
  if (!vdso_) {
    UniqueFd fd = own_vdso();
    if (fd.valid()) vdso_ = add_file(std::move(fd), TableBuilder::Order::kFirst);
  }
  return vdso_;
}

std::optional<std::uint64_t> UnwindProcesses::file_of(const LiveProcess& process,
                                                      const Mapping& mapping,
                                                      TableBuilder::Order order) {
  if (mapping.path == "[vdso]") return vdso();
  if (!mapping.file) return std::nullopt;
  auto fd = process.open_file(mapping);
  struct stat status {};
  if (!fd || ::fstat(fd->get(), &status) != 0) {
    if (!is_still_mapped(process, mapping)) return kGone;
    // The vDSO's code then has no table, but it is not code that the program has made either.
    auto [known, fresh] = keys_.try_emplace(
        FileKey{mapping.file.major, mapping.file.minor, mapping.file.inode, ~0ULL, ~0ULL},
        next_file_);
    if (fresh) {
      ++totals_.failed;
      files_[next_file_++].unused_since = Clock::now();
    }
    return known->second;
  }
  return file_of(*std::move(fd), status, order);
}

std::optional<std::uint64_t> UnwindProcesses::file_of(UniqueFd fd, const struct stat& status,
                                                      TableBuilder::Order order) {
  // Not the mtime, which an owner may choose: a file that is gone could leave its table to the next
  // one that gets its inode.
  const FileKey key{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                    static_cast<std::uint64_t>(status.st_ctim.tv_sec),
                    static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
  auto known = keys_.find(key);
  if (known != keys_.end()) return known->second;
  if (!is_elf(fd)) return std::nullopt;  // JIT compilers map files, too
  if (!builder_.has_room()) return kLater;
  return keys_[key] = add_file(std::move(fd), order);
}

void UnwindProcesses::expect(UniqueFd program) {
  constexpr auto kFirst = TableBuilder::Order::kFirst;
  vdso();
  const auto own = LiveProcess::open(static_cast<Pid>(::getpid()));
  if (const auto mappings = own ? (*own)->mappings() : own.error()) {
    // The program mostly has the same loader and C library as labelscope.
    for (const Address common : {getauxval(AT_BASE), reinterpret_cast<Address>(&::getauxval)}) {
      if (const Mapping* mapping = find_mapping(*mappings, common))
        file_of(**own, *mapping, kFirst);
    }
  }
  struct stat status {};
  if (program.valid() && ::fstat(program.get(), &status) == 0) {
    file_of(std::move(program), status, kFirst);
  }
}

// What a known process has mapped since the last look was reported to on_mapping().
void UnwindProcesses::set(Pid pid, const OneLook* look) {
  const auto known = processes_.find(pid);
  if (known == processes_.end() || life_of_(pid) != known->second.life) {
    refresh(pid, look);
  } else if (known->second.inherited) {
    // The parent may have mapped something before the fork that was not reported yet.
    on_mapping(pid);
  }
}

// Takes the mappings of the process from the look, or reads them now.
void UnwindProcesses::refresh(Pid pid, const OneLook* look) {
  const auto begin = Clock::now();
  const std::uint64_t read_ns = monotonic_ns();
  const auto life = life_of_(pid);
  if (!life) return;  // it has ended
  KnownProcess& known = processes_[pid];
  auto live = LiveProcess::open(pid);
  auto mappings = !live ? live.error() : look ? code_mappings(*look) : code_mappings(**live);
  if (!mappings) {
    // The process has ended, and forget() comes; or labelscope has no descriptor left for now.
    known.refresh_at = begin + kAgain;
    return;
  }
  KnownProcess process;
  bool waits = false;
  process.life = *life;
  process.read_ns = read_ns;
  process.read_until_ns = monotonic_ns();
  std::map<std::pair<FileId, std::string>, std::optional<std::uint64_t>> seen;
  for (const Mapping& mapping : *mappings) {
    if (mapping.path == "[vsyscall]") continue;
    const std::pair key(mapping.file, mapping.file ? std::string() : mapping.path);
    // The first sample does not wait until 500 files are open.
    if (look != nullptr && mapping.file && seen.size() >= kMostFilesAtFirst &&
        !seen.contains(key) && !is_loader_or_libc(mapping.path)) {
      waits = true;
      process.mappings.push_back({mapping.start, mapping.end, mapping.file_offset, kLater,
                                  mapping.file});
      continue;
    }
    auto [entry, fresh] = seen.try_emplace(key);
    // The program has the lowest addresses.
    const bool is_first = seen.size() == 1 || is_loader_or_libc(mapping.path);
    const auto order = is_first ? TableBuilder::Order::kFirst : TableBuilder::Order::kThen;
    if (fresh) entry->second = file_of(**live, mapping, order);
    if (entry->second == kGone) {
      known.refresh_at = Clock::now() + kLeastPause;
      return;
    }
    waits |= entry->second == kLater;
    process.mappings.push_back(
        {mapping.start, mapping.end, mapping.file_offset, entry->second, mapping.file});
  }
  // The process has executed another program meanwhile, and its on_exec() comes.
  if (life_of_(pid) != life) return;
  const bool goes_on = known.began != Clock::time_point() && known.life == *life;
  process.began = goes_on ? known.began : begin;
  process.quick_looks = goes_on ? known.quick_looks : 0;
  process.list = std::move(known.list);
  process.pause = std::max<Clock::duration>((Clock::now() - begin) * kShareOfTime, kLeastPause);
  if (waits)
    process.refresh_at = Clock::now() + (look == nullptr ? process.pause : process.pause.zero());
  known = std::move(process);
  publish(pid, known);
}

// Replaces the list of the process by a list of what is known now.
void UnwindProcesses::publish(Pid pid, KnownProcess& process) {
  process.changed = false;
  if (has_wanted(process)) process.wanted.reset();
  std::vector<ls_unwind_mapping> mappings;
  auto list = std::make_shared<List>();
  for (const CodeMapping& mapping : process.mappings) {
    if (mappings.size() == LS_UNWIND_MAX_MAPPINGS) {
      totals_.mappings += process.mappings.size() - mappings.size();
      break;
    }
    ls_unwind_mapping entry{mapping.start, mapping.end, mapping.start, LS_UNWIND_NO_FILE, 0};
    if (mapping.file) {
      entry.module = LS_UNWIND_NO_TABLE;
      File& file = files_[*mapping.file];
      const auto bias = load_bias_at(file.segments, mapping.start, mapping.file_offset);
      if (file.module && bias) {
        entry.module = *file.module;
        entry.text = *bias + file.text;
      }
      ++file.users;
      list->files.push_back(*mapping.file);
    }
    mappings.push_back(entry);
  }
  auto added = tables_->add_list(mappings);
  process.published = Clock::now();
  if (!added) {
    if (!std::exchange(process.without_room, true)) totals_.mappings += mappings.size();
    process.changed = true;
    for (const std::uint64_t file : list->files) --files_[file].users;
    return;
  }
  process.without_room = false;
  list->process = *added;
  list->process.life = process.life;
  if (!tables_->set_process(pid, list->process)) totals_.mappings += mappings.size();
  since_[pid].begin_list(list->process.list, process.read_ns, process.read_until_ns);
  retire(std::exchange(process.list, std::move(list)));
}

void UnwindProcesses::retire(std::shared_ptr<List> list) {
  if (list) retired_.push_back({Clock::now(), std::move(list)});
}

void UnwindProcesses::drop_retired() {
  const auto now = Clock::now();
  for (Retired& retired : retired_) {
    if (now - retired.when < kGrace) break;
    // A child may have the list, or it stands here once more: the last user removes it.
    const std::shared_ptr<List> list = std::move(retired.list);
    if (list.use_count() > 1) continue;
    tables_->remove_list(list->process);
    for (const std::uint64_t number : list->files) {
      File& file = files_[number];
      if (--file.users != 0) continue;
      file.unused_since = now;
      can_evict_more_ |= file.module.has_value();
    }
  }
  std::erase_if(retired_, [](const Retired& retired) { return retired.list == nullptr; });
}

// Makes room: removes the table of the file that no process has had loaded for the longest time.
bool UnwindProcesses::evict() {
  auto oldest = files_.end();
  for (auto each = files_.begin(); each != files_.end(); ++each) {
    if (!each->second.module || each->second.users != 0) continue;
    if (oldest == files_.end() || each->second.unused_since < oldest->second.unused_since) {
      oldest = each;
    }
  }
  if (oldest == files_.end()) return false;
  tables_->remove(*oldest->second.module);
  if (vdso_ == oldest->first) vdso_.reset();
  files_.erase(oldest);
  std::erase_if(keys_, [&](const auto& entry) { return !files_.contains(entry.second); });
  ++totals_.evicted;
  --totals_.tables;
  return true;
}

// A process has unloaded a file, so its table may be removed. Then the tables that had no room are
// made again. Their files are opened again, because the old descriptors were closed with the old
// tables.
void UnwindProcesses::ask_again() {
  if (!std::exchange(can_evict_more_, false)) return;
  std::erase_if(keys_, [&](const auto& entry) { return files_[entry.second].without_room; });
  for (auto& [pid, process] : processes_) {
    const bool wants = std::ranges::any_of(process.mappings, [&](const CodeMapping& mapping) {
      return mapping.file && files_[*mapping.file].without_room;
    });
    if (wants) on_mapping(pid);
  }
  for (auto& [number, file] : files_) totals_.no_room -= std::exchange(file.without_room, false);
}

// Forgets files, because a target may load ever new files that have no table.
void UnwindProcesses::drop_files() {
  const auto now = Clock::now();
  if (now < drop_files_at_) return;
  drop_files_at_ = now + kForgetFile;
  std::erase_if(files_, [&](const auto& entry) {
    const File& file = entry.second;
    return !file.module && file.users == 0 && !file.is_asked_for &&
           now - file.unused_since > kForgetFile;
  });
  std::erase_if(keys_, [&](const auto& entry) { return !files_.contains(entry.second); });
}

void UnwindProcesses::take_tables() {
  std::vector<std::uint64_t> arrived;
  for (TableBuilder::Built& built : builder_.take()) {
    File& file = files_[built.key];
    file.is_asked_for = false;
    if (!built.table) {
      ++totals_.failed;
      continue;
    }
    auto module = tables_->add(*built.table);
    while (!module && module.error().code == ErrorCode::kLimit && evict()) {
      module = tables_->add(*built.table);
    }
    if (!module) {
      file.without_room = module.error().code == ErrorCode::kLimit;
      ++(file.without_room ? totals_.no_room : totals_.failed);
      continue;
    }
    ++totals_.tables;
    file.module = *module;
    file.text = built.table->text;
    file.segments = std::move(built.table->segments);
    arrived.push_back(built.key);
  }
  totals_.row_bytes = tables_->row_bytes();
  if (arrived.empty()) return;
  std::sort(arrived.begin(), arrived.end());
  for (auto& [pid, process] : processes_) {
    process.changed |= std::any_of(
        process.mappings.begin(), process.mappings.end(), [&](const CodeMapping& mapping) {
          return mapping.file && std::binary_search(arrived.begin(), arrived.end(), *mapping.file);
        });
  }
}

void UnwindProcesses::work() {
  drop_retired();
  drop_files();
  ask_again();
  take_tables();
  const auto now = Clock::now();
  std::vector<Pid> due;
  for (const auto& [pid, process] : processes_) {
    if (process.refresh_at && now >= *process.refresh_at) due.push_back(pid);
  }
  for (const Pid pid : due) {
    processes_[pid].refresh_at.reset();
    refresh(pid, nullptr);
  }
  publish_changed(builder_.is_idle());
}

milliseconds UnwindProcesses::longest_wait() const {
  constexpr milliseconds kWhileBusy{20};
  const bool is_busy = !builder_.is_idle() || std::ranges::any_of(processes_, [](const auto& each) {
    return each.second.changed || each.second.refresh_at;
  });
  return is_busy ? kWhileBusy : milliseconds::max();
}

// Whether nothing more will come of the table that is wanted.
bool UnwindProcesses::has_wanted(const KnownProcess& process) const {
  if (!process.wanted) return false;
  const auto file = files_.find(*process.wanted);
  return file == files_.end() || !file->second.is_asked_for;
}

void UnwindProcesses::publish_changed(bool at_once) {
  const auto now = Clock::now();
  for (auto& [pid, process] : processes_) {
    if (!process.changed) continue;
    const auto age = now - process.published;
    const bool soon = at_once || (has_wanted(process) && age > kLeastPause);
    if (age > kAgain || (soon && !process.without_room)) publish(pid, process);
  }
}

void UnwindProcesses::wait(milliseconds timeout) {
  static_cast<void>(builder_.wait(timeout));
  take_tables();
  publish_changed(true);
}

void UnwindProcesses::want(Pid pid, Address address) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  const auto& mappings = process->second.mappings;
  const auto mapping = std::ranges::find_if(mappings, [&](const CodeMapping& each) {
    return address - each.start < each.end - each.start;
  });
  if (mapping == mappings.end() || !mapping->file) return;
  const auto file = files_.find(*mapping->file);
  if (file == files_.end() || !file->second.is_asked_for) return;
  builder_.prefer(file->first);
  process->second.wanted = file->first;
}

void UnwindProcesses::add_counts(Counts& counts) const {
  counts[Counter::kUnwindTables] += totals_.tables;
  counts[Counter::kUnwindTableBytes] += totals_.row_bytes;
  counts[Counter::kUnwindTablesFailed] += totals_.failed;
  counts[Counter::kUnwindTablesWithoutRoom] += totals_.no_room;
  counts[Counter::kUnwindTablesEvicted] += totals_.evicted;
  counts[Counter::kUnwindMappingsWithoutRoom] += totals_.mappings;
}

void UnwindProcesses::on_mapping(Pid pid) {
  auto process = processes_.find(pid);
  if (process == processes_.end() || process->second.refresh_at) return;
  KnownProcess& known = process->second;
  const auto now = Clock::now();
  const bool is_young = now - known.began < kFirstMoments && known.quick_looks < kMostQuickLooks;
  known.quick_looks += is_young;
  // What seldom changes is read at once.
  const Clock::time_point read(std::chrono::nanoseconds(known.read_ns));
  known.refresh_at = is_young ? now : std::max(now, read + known.pause);
}

void UnwindProcesses::on_report(const MappingEvent& mapping) {
  const Address end = mapping.start + mapping.length;
  const auto process = processes_.find(mapping.pid);
  const auto since = since_.find(mapping.pid);
  if (process != processes_.end() && since != since_.end()) {
    const FileId id{mapping.device_major, mapping.device_minor, mapping.inode};
    // A program that makes code may change what it may do with that memory all the time.
    const bool was_there = std::ranges::all_of(process->second.mappings, [&](const CodeMapping& one) {
      return one.end <= mapping.start || one.start >= end || (!one.file && one.id == id);
    });
    const MappedCode code{id, mapping.generation, mapping.start - mapping.file_offset};
    since->second.note(mapping.start, end, mapping.time_ns, code, was_there);
  }
  on_mapping(mapping.pid);
}

std::optional<std::size_t> UnwindProcesses::doubtful_frame(
    Pid pid, std::uint32_t list, std::uint64_t time_ns,
    std::span<const std::uint64_t> frames) const {
  const auto since = since_.find(pid);
  return since == since_.end() ? 0 : since->second.doubtful(list, time_ns, frames);
}

// The BPF program has given the child what its parent had then.
void UnwindProcesses::on_fork(ProcessKey parent, ProcessKey child) {
  // Samples of a child that has ended already are still to come.
  if (const auto since = since_.find(parent.pid); since != since_.end()) {
    since_[child.pid] = since->second;
  }
  auto from = processes_.find(parent.pid);
  if (from == processes_.end() || !from->second.list) return;
  const auto now = life_of_(child.pid);
  if (!now) return;
  // The parent may have executed another program since. Of a lost record its life is not known.
  if (parent.life != from->second.life || *now != child.life) {
    refresh(child.pid, nullptr);
    return;
  }
  KnownProcess copy = from->second;
  copy.life = child.life;
  ls_unwind_process entry = copy.list->process;
  entry.life = copy.life;
  static_cast<void>(tables_->set_process(child.pid, entry));
  KnownProcess& known = processes_[child.pid];  // set() may have come first
  retire(std::move(known.list));
  known = std::move(copy);
  known.inherited = true;
}

void UnwindProcesses::forget(Pid pid) {
  since_.erase(pid);
  auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  tables_->remove_process(pid);
  retire(std::move(process->second.list));
  processes_.erase(process);
}

Result<std::unique_ptr<StackTables>> StackTables::open(const SamplerOptions& options,
                                                       const bpf_object* object,
                                                       LifeOf life, FirstParts first) {
  if (options.call_graph != LS_CALL_GRAPH_DWARF) return std::make_unique<StackTables>();
  auto tables = UnwindTables::open(object, options.unwind_bytes, std::move(first));
  if (!tables) return std::move(tables).error();
  auto build = options.build_table;
  if (!build) build = [](UniqueFd file) { return build_unwind_table(std::move(file)); };
  return std::unique_ptr<StackTables>(std::make_unique<UnwindProcesses>(
      *std::move(tables), std::move(build), std::move(life)));
}

}  // namespace labelscope
