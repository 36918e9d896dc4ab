// This reads what the target's own libc publishes about its TLS: the DTV's layout, and (in glibc)
// the loader's records of modules.
//
// The problem: where the DTV's entries are depends on the libc and its version, and the target may
// be in a container with another libc than labelscope's. glibc describes its structures for
// debuggers, in dynamic symbols named _thread_db_*: three 32-bit words each, { size in bits, number
// of elements, offset in bytes }. libc.so.6 has them since 2.34, libpthread.so.0 had them before.
// Read in the target, they are right for the target's version. musl has no such symbols, but its
// layout is fixed (struct pthread in src/internal/pthread_impl.h, since 1.1.x).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "labelscope/memory.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "process/modules.h"

namespace labelscope {

// What glibc's loader recorded about one module with TLS.
struct LoaderRecord {
  std::uint32_t module_id = 0;
  std::uint64_t generation = 0;  // generation of the DTV when the module was added
  Address dynamic = 0;           // l_ld: runtime address of the module's dynamic section
  // The distance from the thread pointer to the module's block; none if the block is not in static
  // TLS.
  std::optional<std::int64_t> static_offset;
};

class LibcTls {
 public:
  enum class Kind { kUnknown, kGlibc, kMusl };

  // Returns whether inspect() can learn anything from this file.
  static bool concerns(const ElfImage& image);
  // Looks for the libc among the modules. It never fails: for an unknown libc it assumes the layout
  // of today's glibc.
  static LibcTls inspect(const ModuleList& modules, const MemorySource& memory, Machine machine);

  Kind kind() const { return kind_; }
  // Returns an LS_DTV_SLOT recipe with the layout of this libc's DTV.
  ls_tls_recipe dtv_recipe(std::uint64_t module_id, std::uint64_t offset,
                           std::uint64_t generation) const;
  // Finds a record by module ID, or by the runtime address of the dynamic section. Returns nullopt
  // if there is no such record, or if this libc keeps none that can be read.
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
