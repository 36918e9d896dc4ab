// What the target's own libc says about its TLS: the DTV's layout, and (glibc) the loader's
// records.
//
// glibc describes its structures for debuggers in symbols named _thread_db_*, each three 32-bit
// words: {size in bits, number of elements, offset in bytes}. They are in the dynamic symbol table
// of libc.so.6 (2.34 and later; libpthread.so.0 before), so the target's version decides, not ours.
// musl has no such table; its layout is fixed (struct pthread in src/internal/pthread_impl.h,
// since 1.1.x).
#pragma once

#include <cstdint>
#include <optional>

#include "labelscope/memory.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "process/modules.h"

namespace labelscope {

// What glibc's loader recorded about one module with TLS.
struct LoaderRecord {
  std::uint32_t module_id = 0;
  std::uint64_t generation = 0;  // of the DTV, when the module was added
  Address dynamic = 0;           // l_ld: runtime address of the module's dynamic section
  std::optional<std::int64_t>
      static_offset;  // of its block from the thread pointer, if in static TLS
};

class LibcTls {
 public:
  enum class Kind { kUnknown, kGlibc, kMusl };

  // Whether inspect() could learn anything from this file.
  static bool concerns(const ElfImage& image);
  // Looks for the libc among the modules. Never fails: an unknown libc gets glibc's layout of
  // today.
  static LibcTls inspect(const ModuleList& modules, const MemorySource& memory, Machine machine);

  Kind kind() const { return kind_; }
  // An LS_DTV_SLOT recipe with this libc's DTV geometry; offset, module ID and generation are the
  // caller's.
  ls_tls_recipe dtv_recipe() const;
  // By module ID, or by the runtime address of the dynamic section. nullopt: not recorded, or this
  // libc keeps no records that can be read.
  std::optional<LoaderRecord> record_of(std::uint64_t module_id) const;
  std::optional<LoaderRecord> record_of_dynamic(Address dynamic) const;
  bool has_records() const { return !records_.empty(); }

 private:
  void read_glibc(const Module& libc, const ModuleList& modules, const MemorySource& memory,
                  Machine machine);

  Kind kind_ = Kind::kUnknown;
  std::int16_t dtv_offset_ = 0;
  std::int16_t length_offset_ = 0;
  std::uint16_t entry_size_ = 0;
  std::vector<LoaderRecord> records_;
};

}  // namespace labelscope
