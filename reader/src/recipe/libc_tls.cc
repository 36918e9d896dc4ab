// glibc's loader records each module that has TLS in a list of arrays. LibcTls walks it as
// libthread_db does for a debugger:
//
//   _rtld_global                    list                         next list
//   [ ... | pointer | ... ] ------> [ len | next | slot[len] ] -> [ len | next | slot[len] ] -> ...
//           ^ at list_offset                         |
//                                                    v   the slot's number is the module ID
//                                        { generation, link_map* }
//                                                          |
//                                                          v
//             { l_addr, l_name, l_ld (all public, <link.h>), ..., l_tls_offset, l_tls_modid, ... }
//
// l_tls_offset shows whether the module's block is in static TLS. The offsets of all fields but the
// public ones come from the _thread_db_* symbols (libc_tls.h).
//
// The process runs, so the list may change while it is read. Lengths are bounded, a record that
// cannot be read is left out, and planning happens again when the mappings change.
#include "recipe/libc_tls.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "elf/elf_image.h"

namespace labelscope {
namespace {

constexpr std::size_t kMaxTlsModules = 65536;
constexpr std::size_t kMaxLists = 4096;

struct FieldDescription {
  std::uint32_t bits = 0;
  std::uint32_t elements = 0;
  std::uint32_t offset = 0;
};

// Reads _thread_db_* symbols of one module from the target's memory.
class Descriptions {
 public:
  Descriptions(const Module& libc, const MemorySource& memory) : libc_(libc), memory_(memory) {}

  std::optional<FieldDescription> field(const char* name) const {
    return read<FieldDescription>(name);
  }
  std::optional<std::uint32_t> size(const char* name) const { return read<std::uint32_t>(name); }

 private:
  template <class T>
  std::optional<T> read(const char* name) const {
    auto symbol = libc_.image->find_dynamic_symbol(std::string("_thread_db_") + name);
    if (!symbol || !*symbol || !(*symbol)->defined || (*symbol)->size != sizeof(T))
      return std::nullopt;
    auto value = read_value<T>(memory_, libc_.load_bias + (*symbol)->value);
    if (!value) return std::nullopt;
    return *value;
  }
  const Module& libc_;
  const MemorySource& memory_;
};

bool defines(const ElfImage& image, const char* symbol) {
  auto found = image.find_dynamic_symbol(symbol);
  return found && *found && (*found)->defined;
}

// What the walk of the loader's records needs. If one part is missing, there is no walk.
struct RecordLayout {
  std::uint32_t list_offset, len, next, slots, slot_size, slot_generation, slot_map, map_tls_offset;

  static std::optional<RecordLayout> read(const Descriptions& db) {
    auto list = db.field("rtld_global__dl_tls_dtv_slotinfo_list");
    auto len = db.field("dtv_slotinfo_list_len");
    auto next = db.field("dtv_slotinfo_list_next");
    auto slots = db.field("dtv_slotinfo_list_slotinfo");
    auto slot_size = db.size("sizeof_dtv_slotinfo");
    auto generation = db.field("dtv_slotinfo_gen");
    auto map = db.field("dtv_slotinfo_map");
    auto tls_offset = db.field("link_map_l_tls_offset");
    if (!list || !len || !next || !slots || !slot_size || !generation || !map || !tls_offset)
      return {};
    if (*slot_size < 16 || *slot_size > 256 || generation->offset > *slot_size - 8 ||
        map->offset > *slot_size - 8) {
      return {};
    }
    return RecordLayout{list->offset, len->offset,        next->offset, slots->offset,
                        *slot_size,   generation->offset, map->offset,  tls_offset->offset};
  }
};

std::optional<LoaderRecord> read_record(const MemorySource& memory, const RecordLayout& layout,
                                        Address slot, std::size_t module_id, Machine machine) {
  auto generation = read_value<std::uint64_t>(memory, slot + layout.slot_generation);
  auto map = read_value<Address>(memory, slot + layout.slot_map);
  if (!generation || !map || *map == 0) return std::nullopt;
  constexpr Address kOffsetOfDynamic = 16;  // l_ld in struct link_map of <link.h>
  auto dynamic = read_value<Address>(memory, *map + kOffsetOfDynamic);
  auto tls_offset = read_value<std::int64_t>(memory, *map + layout.map_tls_offset);
  if (!dynamic || !tls_offset) return std::nullopt;
  LoaderRecord record{static_cast<std::uint32_t>(module_id), *generation, *dynamic, std::nullopt};
  // 0 means that the block is not placed yet, and -1 (-2 in older versions) that it is not in
  // static TLS. Otherwise it is the distance from the thread pointer, on x86-64 downwards.
  if (*tls_offset > 0)
    record.static_offset = machine == Machine::kX86_64 ? -*tls_offset : *tls_offset;
  return record;
}

}  // namespace

bool LibcTls::concerns(const ElfImage& image) {
  constexpr const char* kNames[] = {"_thread_db_dtv_dtv", "gnu_get_libc_version", "_rtld_global",
                                    "__tls_get_addr"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return defines(image, name); });
}

LibcTls LibcTls::inspect(const ModuleList& modules, const MemorySource& memory, Machine machine) {
  LibcTls libc;
  // In glibc the pointer to the DTV is the second word of the TCB on x86-64, and the first on
  // aarch64; dtv[-1] is the length, and an entry is {pointer, pointer to free}.
  libc.dtv_offset_ = machine == Machine::kX86_64 ? 8 : 0;
  libc.length_offset_ = -16;
  libc.entry_size_ = 16;
  for (const Module& module : modules.modules) {
    if (defines(*module.image, "_thread_db_dtv_dtv")) {
      libc.kind_ = Kind::kGlibc;
      libc.read_glibc(module, modules, memory, machine);
      return libc;
    }
    if (defines(*module.image, "gnu_get_libc_version")) {
      libc.kind_ = Kind::kGlibc;  // before 2.34: the descriptions are in libpthread, a later module
    } else if (libc.kind_ == Kind::kUnknown && defines(*module.image, "__tls_get_addr") &&
               defines(*module.image, "pthread_create") &&
               defines(*module.image, "__libc_start_main")) {
      // If one module is loader, libc and threads at once, it is musl.
      libc.kind_ = Kind::kMusl;
      libc.dtv_offset_ = machine == Machine::kX86_64 ? 8 : -8;
      libc.length_offset_ = 0;
      libc.entry_size_ = 8;
      return libc;
    }
  }
  return libc;
}

void LibcTls::read_glibc(const Module& libc, const ModuleList& modules, const MemorySource& memory,
                         Machine machine) {
  Descriptions db(libc, memory);
  auto dtv_pointer = db.field("pthread_dtvp");
  auto entry = db.field("dtv_dtv");
  if (dtv_pointer && entry) {
    // The thread pointer is the start of struct pthread on x86-64, and its end on aarch64.
    std::int64_t base = 0;
    if (machine == Machine::kAarch64)
      base = db.size("sizeof_pthread").value_or(dtv_pointer->offset);
    std::int64_t offset = static_cast<std::int64_t>(dtv_pointer->offset) - base;
    std::uint32_t size = entry->bits / 8;
    if (offset >= INT16_MIN && offset <= INT16_MAX && (size == 8 || size == 16)) {
      dtv_offset_ = static_cast<std::int16_t>(offset);
      entry_size_ = static_cast<std::uint16_t>(size);
      length_offset_ = static_cast<std::int16_t>(-static_cast<int>(size));
    }
  }
  auto layout = RecordLayout::read(db);
  if (!layout) return;
  Address list = 0;
  for (const Module& module : modules.modules) {
    auto global = module.image->find_dynamic_symbol("_rtld_global");
    if (!global || !*global || !(*global)->defined) continue;
    auto head =
        read_value<Address>(memory, module.load_bias + (*global)->value + layout->list_offset);
    if (head) list = *head;
    break;
  }
  std::size_t module_id = 0;
  for (std::size_t lists = 0; list != 0 && lists < kMaxLists; ++lists) {
    auto length = read_value<std::uint64_t>(memory, list + layout->len);
    auto next = read_value<Address>(memory, list + layout->next);
    if (!length || !next || *length > kMaxTlsModules - module_id) return;
    for (std::uint64_t i = 0; i < *length; ++i, ++module_id) {
      auto record = read_record(memory, *layout, list + layout->slots + i * layout->slot_size,
                                module_id, machine);
      if (record) records_.push_back(*record);
    }
    list = *next;
  }
}

ls_tls_recipe LibcTls::dtv_recipe(std::uint64_t module_id, std::uint64_t offset,
                                  std::uint64_t generation) const {
  ls_tls_recipe recipe{};
  recipe.kind = LS_DTV_SLOT;
  recipe.dtv_offset = dtv_offset_;
  recipe.length_offset = length_offset_;
  recipe.entry_size = entry_size_;
  recipe.module_id = static_cast<std::uint32_t>(module_id);
  recipe.offset = static_cast<std::int64_t>(offset);
  recipe.generation = generation;
  return recipe;
}

std::optional<LoaderRecord> LibcTls::record_of(std::uint64_t module_id) const {
  const auto found = std::ranges::find(records_, module_id, &LoaderRecord::module_id);
  return found == records_.end() ? std::nullopt : std::optional(*found);
}

std::optional<LoaderRecord> LibcTls::record_of_dynamic(Address dynamic) const {
  const auto found = std::ranges::find(records_, dynamic, &LoaderRecord::dynamic);
  return found == records_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace labelscope
