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
                                                         std::size_t most_bytes, FirstParts first) {
  std::unique_ptr<UnwindTables> tables(new UnwindTables);
  auto modules =
      SharedArray<ls_unwind_module>::map(map_fd(object, "unwind_modules"), LS_UNWIND_MAX_MODULES);
  if (!modules) return std::move(modules).error();
  tables->modules_ = *std::move(modules);
  const auto open_parts = [&]<class T>(GrowingArray<T>& array, const char* name,
                                       std::uint32_t values) {
    array = GrowingArray<T>(map_fd(object, name), {name, sizeof(T), values}, first.take(name));
  };
  open_parts(tables->mappings_, "unwind_mappings", LS_UNWIND_PART_MAPPINGS);
  open_parts(tables->pages_, "unwind_pages", LS_UNWIND_PART_PAGES);
  open_parts(tables->rules_, "unwind_rules", LS_UNWIND_PART_RULES);
  tables->rows_ = GrowingArray<std::uint32_t>(
      map_fd(object, "unwind_blocks"),
      {"unwind_rows", LS_UNWIND_BLOCK_ROWS * sizeof(std::uint32_t), LS_UNWIND_MAP_BLOCKS},
      first.take("unwind_blocks"));
  const std::size_t row_maps = std::clamp<std::size_t>(
      most_bytes / (kMapRows * sizeof(std::uint32_t)), 1, LS_UNWIND_MAX_BLOCK_MAPS);
  tables->free_rows_.add(0, row_maps * kMapRows);
  tables->free_mappings_.add(0, LS_UNWIND_MAPPINGS_ROOM);
  tables->free_modules_.add(0, LS_UNWIND_MAX_MODULES);
  tables->free_pages_.add(0, LS_UNWIND_MAX_PAGES);
  tables->free_rules_.add(0, LS_UNWIND_RULES_ROOM);
  tables->processes_fd_ = map_fd(object, "unwind_processes");
  tables->stored_.resize(LS_UNWIND_MAX_MODULES);
  return tables;
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
  if (status) status = store(table, stored);
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
  modules_[*number] = stored.module;
  stored_[*number] = std::move(stored);
  return static_cast<std::uint32_t>(*number);
}

// Fills the room that the module has.
Status UnwindTables::store(const UnwindTable& table, Stored& stored) {
  if (Status status = store_rows(table, stored); !status) return status;
  std::vector<ls_unwind_page> pages;
  pages.reserve(stored.rows.size());
  for (const auto& [first, count] : stored.rows) {
    pages.push_back({static_cast<std::uint32_t>(first / LS_UNWIND_BLOCK_ROWS),
                     static_cast<std::uint16_t>(first % LS_UNWIND_BLOCK_ROWS),
                     static_cast<std::uint16_t>(count)});
  }
  if (Status status = pages_.store(stored.module.first_page, pages); !status) return status;
  return rules_.store(stored.module.first_rule, table.rules);
}

Status UnwindTables::store_rows(const UnwindTable& table, Stored& stored) {
  for (const ls_unwind_rows& page : table.pages) {
    const auto rows = free_rows_.take(page.count);
    if (!rows) return no_room("rows (--max-unwind-mb)");
    stored.rows.emplace_back(*rows, page.count);
    row_bytes_ += page.count * sizeof(std::uint32_t);
    Status status = rows_.store(*rows, std::span(table.rows).subspan(page.first, page.count));
    if (!status) return status;
  }
  return {};
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
  if (Status status = mappings_.store(*first, mappings); !status) {
    free_mappings_.release(*first, mappings.size());
    return std::move(status).error();
  }
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
