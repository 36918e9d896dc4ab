#include "bpf/unwind/unwind_tables.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "bpf/load/loading.h"

namespace labelscope {
namespace {

constexpr std::size_t kMapRows = std::size_t{LS_UNWIND_MAP_BLOCKS} * LS_UNWIND_BLOCK_ROWS;

Error no_room(const char* what) {
  return {ErrorCode::kLimit, std::string("there is no room for more ") + what};
}

// No file has such counts, but a table that another process has sent may.
bool has_odd_counts(const UnwindTable& table) {
  return table.pages.empty() || table.rules.empty() ||
         std::any_of(table.pages.begin(), table.pages.end(), [](const ls_unwind_rows& page) {
           return page.count == 0 || page.count > LS_UNWIND_BLOCK_ROWS;
         });
}

}  // namespace

template <class T>
Result<SharedArray<T>> SharedArray<T>::map(int fd, std::size_t count) {
  void* memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return system_error(errno, "cannot map the unwinder's tables");
  SharedArray array;
  array.values_ = {static_cast<T*>(memory), count};
  return array;
}

template <class T>
SharedArray<T>::~SharedArray() {
  if (!values_.empty()) ::munmap(values_.data(), values_.size_bytes());
}

UnwindTables::~UnwindTables() = default;

Result<std::unique_ptr<UnwindTables>> UnwindTables::open(const bpf_object* object,
                                                         std::size_t most_bytes) {
  std::unique_ptr<UnwindTables> tables(new UnwindTables);
  Status status;
  auto map = [&](auto& array, FreeRanges& free, const char* name, std::size_t count) {
    if (!status) return;
    auto mapped = std::remove_reference_t<decltype(array)>::map(map_fd(object, name), count);
    if (mapped) {
      array = *std::move(mapped);
      free.add(0, count);
    } else {
      status = std::move(mapped).error();
    }
  };
  map(tables->mappings_, tables->free_mappings_, "unwind_mappings", LS_UNWIND_MAPPINGS_ROOM);
  map(tables->modules_, tables->free_modules_, "unwind_modules", LS_UNWIND_MAX_MODULES);
  map(tables->pages_, tables->free_pages_, "unwind_pages", LS_UNWIND_MAX_PAGES);
  map(tables->rules_, tables->free_rules_, "unwind_rules", LS_UNWIND_RULES_ROOM);
  if (!status) return std::move(status).error();
  tables->blocks_fd_ = map_fd(object, "unwind_blocks");
  tables->processes_fd_ = map_fd(object, "unwind_processes");
  tables->stored_.resize(LS_UNWIND_MAX_MODULES);
  tables->most_block_maps_ = std::clamp<std::size_t>(
      most_bytes / (kMapRows * sizeof(std::uint32_t)), 1, LS_UNWIND_MAX_BLOCK_MAPS);
  return tables;
}

Status UnwindTables::add_block_map() {
  const auto number = static_cast<std::uint32_t>(block_maps_.size());
  if (number == most_block_maps_) return no_room("rows (--max-unwind-mb)");
  DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  UniqueFd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rows", sizeof(std::uint32_t),
                              LS_UNWIND_BLOCK_ROWS * sizeof(std::uint32_t), LS_UNWIND_MAP_BLOCKS,
                              &options));
  if (!map.valid()) return system_error(errno, "cannot make a map for the unwinder's rows");
  auto rows = SharedArray<std::uint32_t>::map(map.get(), kMapRows);
  if (!rows) return std::move(rows).error();
  const int fd = map.get();
  if (bpf_map_update_elem(blocks_fd_, &number, &fd, BPF_ANY) != 0) {
    return system_error(errno, "cannot add a map for the unwinder's rows");
  }
  block_maps_.push_back(std::move(map));
  blocks_.push_back(*std::move(rows));
  free_rows_.add(number * kMapRows, kMapRows);
  return {};
}

Result<std::uint32_t> UnwindTables::add(const UnwindTable& table) {
  if (has_odd_counts(table)) return Error{ErrorCode::kMalformed, "an unwind table has odd counts"};
  Stored stored;
  stored.module.page_count = static_cast<std::uint32_t>(table.pages.size());
  stored.module.rule_count = static_cast<std::uint32_t>(table.rules.size());
  const auto pages = free_pages_.take(table.pages.size());
  const auto rules = free_rules_.take(table.rules.size());
  const auto number = free_modules_.take(1);
  Status status = pages && rules && number ? Status() : Status(no_room("files"));
  if (pages) stored.module.first_page = static_cast<std::uint32_t>(*pages);
  if (rules) stored.module.first_rule = static_cast<std::uint32_t>(*rules);
  for (std::size_t i = 0; status && i < table.pages.size(); ++i) {
    const ls_unwind_rows& page = table.pages[i];
    auto rows = free_rows_.take(page.count);
    if (!rows && (status = add_block_map())) rows = free_rows_.take(page.count);
    if (!rows) break;
    stored.rows.emplace_back(*rows, page.count);
    std::copy_n(&table.rows[page.first], page.count, &blocks_[*rows / kMapRows][*rows % kMapRows]);
    pages_[*pages + i] = {static_cast<std::uint32_t>(*rows / LS_UNWIND_BLOCK_ROWS),
                          static_cast<std::uint16_t>(*rows % LS_UNWIND_BLOCK_ROWS),
                          static_cast<std::uint16_t>(page.count)};
    row_bytes_ += page.count * sizeof(std::uint32_t);
  }
  if (!status) {
    for (const auto& [first, count] : stored.rows) {
      free_rows_.release(first, count);
      row_bytes_ -= count * sizeof(std::uint32_t);
    }
    if (pages) free_pages_.release(*pages, table.pages.size());
    if (rules) free_rules_.release(*rules, table.rules.size());
    if (number) free_modules_.release(*number, 1);
    return std::move(status).error();
  }
  std::copy(table.rules.begin(), table.rules.end(), &rules_[*rules]);
  modules_[*number] = stored.module;
  stored_[*number] = std::move(stored);
  return static_cast<std::uint32_t>(*number);
}

void UnwindTables::remove(std::uint32_t module) {
  Stored stored = std::exchange(stored_[module], {});
  modules_[module] = {};
  for (const auto& [first, count] : stored.rows) {
    free_rows_.release(first, count);
    row_bytes_ -= count * sizeof(std::uint32_t);
  }
  free_pages_.release(stored.module.first_page, stored.module.page_count);
  free_rules_.release(stored.module.first_rule, stored.module.rule_count);
  free_modules_.release(module, 1);
}

Result<ls_unwind_process> UnwindTables::add_list(std::span<ls_unwind_mapping> mappings) {
  ls_unwind_process list{};
  list.count = static_cast<std::uint32_t>(mappings.size());
  list.list = next_list_++;
  if (mappings.empty()) return list;
  const auto first = free_mappings_.take(mappings.size());
  if (!first) return no_room("mappings of processes");
  list.first = static_cast<std::uint32_t>(*first);
  for (ls_unwind_mapping& mapping : mappings) mapping.list = list.list;
  std::copy(mappings.begin(), mappings.end(), &mappings_[*first]);
  return list;
}

void UnwindTables::remove_list(const ls_unwind_process& list) {
  for (std::uint32_t i = 0; i < list.count; ++i) mappings_[list.first + i].list = 0;
  free_mappings_.release(list.first, list.count);
}

Status UnwindTables::set_process(Pid pid, const ls_unwind_process& list) {
  if (bpf_map_update_elem(processes_fd_, &pid, &list, BPF_ANY) == 0) return {};
  return system_error(errno, "cannot write to the map of processes to unwind");
}

// The entry may be gone already.
void UnwindTables::remove_process(Pid pid) {
  static_cast<void>(bpf_map_delete_elem(processes_fd_, &pid));
}

}  // namespace labelscope
