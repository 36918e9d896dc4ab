#include "unwind/target_tables.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>

#include "unwind_table/copied_module.h"

namespace labelscope {
namespace {

using Clock = std::chrono::steady_clock;

// Programs have a few hundred modules. These limits stop a program with more or larger modules, or
// with tables that take longer, which may be hostile.
constexpr std::size_t kMaxTables = 4096;
constexpr std::size_t kMaxRows = 1ULL << 28;  // 1 GiB
constexpr std::chrono::seconds kMaxTime{60};
// So much is copied from the memory of a process for those modules whose file is not available, so
// that it takes a few seconds at most.
constexpr std::uint64_t kMaxCopied = 1ULL << 30;

std::size_t rows_of(const TargetTables::Table& table) { return table ? table->rows.size() : 0; }

// Returns where the module begins that this mapping is a part of.
const Mapping* first_of(const std::vector<Mapping>& mappings, std::size_t index) {
  for (std::size_t i = index + 1; i-- > 0;) {
    if (mappings[i].file != mappings[index].file) break;
    if (mappings[i].file_offset == 0) return &mappings[i];
  }
  return nullptr;
}

// Returns whether the file is ELF, because JIT compilers map other files, too.
bool is_elf(const Target& target, std::optional<Address> module) {
  char magic[SELFMAG] = {};
  return module && target.memory().read(*module, std::as_writable_bytes(std::span(magic))) &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

}  // namespace

bool TargetTables::has_room() const {
  std::size_t rows = 0;
  for (const auto& [file, table] : *files_) rows += rows_of(table);
  for (const auto& [key, table] : from_memory_) rows += rows_of(table);
  return rows < kMaxRows && files_->size() + from_memory_.size() < kMaxTables && spent_ < kMaxTime;
}

TargetTables::Table TargetTables::build(UniqueFd file) {
  const auto begin = Clock::now();
  auto built = build_ ? build_(std::move(file)) : build_unwind_table(std::move(file));
  spent_ += Clock::now() - begin;
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

TargetTables::Table TargetTables::from_memory(const Target& target, Place& place) {
  const MemoryKey key{*place.module, place.mapping.file};
  const auto known = from_memory_.find(key);
  if (known != from_memory_.end()) return known->second;
  if (!has_room()) return nullptr;
  Table& table = from_memory_[key];
  auto file = copied_ < kMaxCopied
                  ? copy_module(target.memory(), *place.module, place.mapping.path)
                  : Result<UniqueFd>(Error{ErrorCode::kLimit, "1 GiB of other modules was copied"});
  if (!file) {
    place.problem = "it cannot be copied from memory: " + file.error().context;
    return table;
  }
  struct stat copy {};
  if (::fstat(file->get(), &copy) == 0) copied_ += static_cast<std::uint64_t>(copy.st_size);
  return table = build(*std::move(file));
}

Status TargetTables::load(const Target& target) {
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  std::ranges::stable_sort(*mappings, {}, &Mapping::start);
  Modules before = std::exchange(from_memory_, {});
  mappings_.clear();
  places_.clear();
  wanted_.clear();
  tables_.clear();
  views_.clear();
  for (std::size_t i = 0; i < mappings->size() && mappings_.size() < LS_UNWIND_MAX_MAPPINGS; ++i) {
    const Mapping& mapping = (*mappings)[i];
    // Mappings at such addresses ([vsyscall]) are the kernel's.
    if (!mapping.executable || mapping.end > INT64_MAX) continue;
    const bool vdso = mapping.path == "[vdso]";
    const bool of_file = mapping.file || vdso;
    mappings_.push_back({mapping.start, mapping.end, mapping.start,
                         of_file ? LS_UNWIND_NO_TABLE : LS_UNWIND_NO_FILE, 0});
    Place& place = places_.emplace_back(Place{mapping, std::nullopt, !of_file});
    const Mapping* first = vdso ? &mapping : mapping.file ? first_of(*mappings, i) : nullptr;
    if (first != nullptr) place.module = first->start;
    const auto file = files_->find(mapping.file);
    if (mapping.file && file != files_->end() && file->second) {
      settle(target, mappings_.size() - 1, file->second);
    } else if (place.module) {
      auto module = before.extract(MemoryKey{*place.module, mapping.file});
      if (!module) continue;
      settle(target, mappings_.size() - 1, module.mapped());
      from_memory_.insert(std::move(module));
    }
  }
  std::erase_if(*files_, [](const auto& file) { return file.second.use_count() == 1; });
  return {};
}

// Sets the table of a mapping; null if it has none.
void TargetTables::settle(const Target& target, std::size_t index, const Table& table) {
  Place& place = places_[index];
  ls_unwind_mapping& entry = mappings_[index];
  place.tried = true;
  const auto bias =
      table ? load_bias_at(table->segments, entry.start, place.mapping.file_offset) : std::nullopt;
  if (!bias) {
    if (!table && !is_elf(target, place.module)) entry.module = LS_UNWIND_NO_FILE;
    return;
  }
  const auto known = std::ranges::find(tables_, table);
  entry.module = static_cast<std::uint32_t>(known - tables_.begin());
  entry.text = *bias + table->text;
  if (known != tables_.end()) return;
  tables_.push_back(table);
  views_.push_back({table->pages.data(), table->rows.data(), table->rules.data(),
                    static_cast<std::uint32_t>(table->pages.size()),
                    static_cast<std::uint32_t>(table->rules.size())});
}

void TargetTables::want(Address start) {
  const auto found = std::ranges::lower_bound(mappings_, start, {}, &ls_unwind_mapping::start);
  const auto index = static_cast<std::size_t>(found - mappings_.begin());
  if (index == mappings_.size() || places_[index].tried) return;
  if (std::ranges::find(wanted_, index) == wanted_.end()) wanted_.push_back(index);
}

void TargetTables::expect(Address address) {
  if (mappings_.empty()) return;
  address &= code_mask();
  if (address < mappings_.front().start || address >= mappings_.back().end) return;
  const auto behind = std::ranges::upper_bound(mappings_, address, {}, &ls_unwind_mapping::start);
  const ls_unwind_mapping& mapping = *std::prev(behind);
  if (address < mapping.end) want(mapping.start);
}

std::string TargetTables::problem_at(Address start) const {
  const auto found = std::ranges::lower_bound(mappings_, start, {}, &ls_unwind_mapping::start);
  return found == mappings_.end()
             ? std::string()
             : places_[static_cast<std::size_t>(found - mappings_.begin())].problem;
}

void TargetTables::make(const Target& target) {
  for (const std::size_t index : std::exchange(wanted_, {})) {
    Place& place = places_[index];
    Table table;
    if (place.mapping.file) table = from_file(target, place.mapping);
    if (!table && place.module) table = from_memory(target, place);
    settle(target, index, table);
  }
}

void TargetTables::give(ls_stack_walk& walk, Machine machine) const {
  const bool all =
      std::ranges::all_of(tables_, [&](const Table& table) { return table->machine == machine; });
  walk.mappings = mappings_.data();
  walk.mapping_count = static_cast<std::uint32_t>(mappings_.size());
  walk.tables = views_.data();
  walk.table_count = all ? static_cast<std::uint32_t>(views_.size()) : 0;
  walk.code_mask = code_mask();
}

// A signature is above the bits of an address, of which there may be 39, 48 or 52. The mask has all
// bits that addresses of this process's code have.
Address TargetTables::code_mask() const {
  return mappings_.empty() ? ~Address{0}
                           : ~Address{0} >> std::countl_zero(mappings_.back().end - 1);
}

}  // namespace labelscope
