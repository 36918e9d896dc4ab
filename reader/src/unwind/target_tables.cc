#include "unwind/target_tables.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "unwind_table/copied_module.h"

namespace labelscope {
namespace {

using Clock = std::chrono::steady_clock;

// Programs have some hundred modules. One with more, or with larger ones, or with such that take
// longer only wants to waste our time.
constexpr std::size_t kMaxTables = 4096;
constexpr std::size_t kMaxRows = 1ULL << 28;  // 1 GiB
constexpr std::chrono::seconds kMaxTime{60};

std::size_t rows_of(const TargetTables::Table& table) { return table ? table->rows.size() : 0; }

// Where the module begins that this mapping is a part of.
const Mapping* first_of(const std::vector<Mapping>& mappings, std::size_t index) {
  for (std::size_t i = index + 1; i-- > 0;) {
    if (mappings[i].file != mappings[index].file) break;
    if (mappings[i].file_offset == 0) return &mappings[i];
  }
  return nullptr;
}

}  // namespace

bool TargetTables::has_room() const {
  std::size_t rows = 0;
  for (const auto& [file, table] : *files_) rows += rows_of(table);
  for (const auto& [key, table] : from_memory_) rows += rows_of(table);
  return rows < kMaxRows && files_->size() + from_memory_.size() < kMaxTables &&
         Clock::now() < late_;
}

TargetTables::Table TargetTables::build(UniqueFd file) {
  auto built = build_ ? build_(std::move(file)) : build_unwind_table(std::move(file));
  if (!built) return nullptr;
  return std::make_shared<const UnwindTable>(*std::move(built));
}

TargetTables::Table TargetTables::from_file(const Target& target, const Mapping& mapping) {
  const auto known = files_->find(mapping.file);
  if (known != files_->end()) return known->second;
  if (!has_room()) return nullptr;
  Table& table = (*files_)[mapping.file];
  if (auto file = target.open_file(mapping)) table = build(*std::move(file));
  return table;
}

TargetTables::Table TargetTables::from_memory(const Target& target, const Mapping& first,
                                              const Modules& before) {
  const MemoryKey key{first.start, first.file};
  const auto same = before.find(key);
  if (same != before.end()) return from_memory_[key] = same->second;
  const auto known = from_memory_.find(key);
  if (known != from_memory_.end()) return known->second;
  if (!has_room()) return nullptr;
  Table& table = from_memory_[key];
  if (auto file = copy_module(target.memory(), first.start)) table = build(*std::move(file));
  return table;
}

Status TargetTables::load(const Target& target) {
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  std::ranges::stable_sort(*mappings, {}, &Mapping::start);
  late_ = Clock::now() + kMaxTime;
  const Modules before = std::exchange(from_memory_, {});
  mappings_.clear();
  tables_.clear();
  std::map<Table, std::uint32_t> numbers;
  for (std::size_t i = 0; i < mappings->size() && mappings_.size() < LS_UNWIND_MAX_MAPPINGS; ++i) {
    const Mapping& mapping = (*mappings)[i];
    // [vsyscall] is the kernel's.
    if (!mapping.executable || mapping.end > INT64_MAX) continue;
    ls_unwind_mapping entry{mapping.start, mapping.end, mapping.start, LS_UNWIND_NO_FILE, 0};
    Table table;
    const bool vdso = mapping.path == "[vdso]";
    if (mapping.file) table = from_file(target, mapping);
    const Mapping* first = vdso ? &mapping : mapping.file ? first_of(*mappings, i) : nullptr;
    if (!table && first != nullptr) table = from_memory(target, *first, before);
    // JIT compilers map files, too.
    char magic[4] = {};
    const bool is_elf =
        first != nullptr &&
        target.memory().read(first->start, std::as_writable_bytes(std::span(magic))) &&
        std::equal(magic, magic + 4,
                   "\x7f"
                   "ELF");
    if (table || is_elf) entry.module = LS_UNWIND_NO_TABLE;
    const auto bias =
        table ? load_bias_at(table->segments, mapping.start, mapping.file_offset) : std::nullopt;
    if (bias) {
      const auto [number, fresh] =
          numbers.try_emplace(table, static_cast<std::uint32_t>(tables_.size()));
      if (fresh) tables_.push_back(table);
      entry.module = number->second;
      entry.text = *bias + table->text;
    }
    mappings_.push_back(entry);
  }
  views_.clear();
  for (const Table& table : tables_) {
    views_.push_back({table->pages.data(), table->rows.data(), table->rules.data(),
                      static_cast<std::uint32_t>(table->pages.size()),
                      static_cast<std::uint32_t>(table->rules.size())});
  }
  std::erase_if(*files_, [](const auto& file) { return file.second.use_count() == 1; });
  return {};
}

void TargetTables::give(ls_walk& walk, Machine machine) const {
  const bool all =
      std::ranges::all_of(tables_, [&](const Table& table) { return table->machine == machine; });
  walk.mappings = mappings_.data();
  walk.mapping_count = static_cast<std::uint32_t>(mappings_.size());
  walk.tables = views_.data();
  walk.table_count = all ? static_cast<std::uint32_t>(views_.size()) : 0;
  // A signature is above the bits of an address, of which there may be 39, 48 or 52. The mask has
  // all bits that addresses of this process's code have.
  walk.code_mask =
      mappings_.empty() ? ~Address{0} : ~Address{0} >> std::countl_zero(mappings_.back().end - 1);
}

}  // namespace labelscope
