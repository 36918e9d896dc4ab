// UnwindTables writes the maps that the unwinder reads (unwind.bpf.h) through shared memory. What
// it gives out stays as it is until it is released. A caller that releases something must know that
// no BPF program uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bpf/load/first_parts.h"
#include "bpf/unwind/free_ranges.h"
#include "bpf/unwind/growing_array.h"
#include "bpf/wire/unwind_wire.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "unwind_table/build_unwind_table.h"

struct bpf_object;

namespace labelscope {

// A BPF array map that is mapped into this process's memory.
template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  static Result<SharedArray> map(int fd, std::size_t count);
  SharedArray(SharedArray&& other) noexcept { std::swap(values_, other.values_); }
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(values_, other.values_);
    return *this;
  }
  ~SharedArray();
  T& operator[](std::size_t index) { return values_[index]; }

 private:
  std::span<T> values_;
};

class UnwindTables {
 public:
  // Opens the maps of a loaded object. `most_bytes` is the limit of rows in bytes. `first`: of its
  // arrays, as far as they are there.
  static Result<std::unique_ptr<UnwindTables>> open(const bpf_object* object,
                                                    std::size_t most_bytes, FirstParts first = {});
  ~UnwindTables();

  // Returns the number of the module. Fails with kLimit if there is no room, and with kMalformed if
  // this is no table at all.
  Result<std::uint32_t> add(const UnwindTable& table);
  void remove(std::uint32_t module);
  std::size_t row_bytes() const { return row_bytes_; }

  // Adds a sorted list of mappings, each of which gets the number of the list. Fails with kLimit if
  // there is no room.
  Result<ls_unwind_process> add_list(std::span<ls_unwind_mapping> mappings);
  void remove_list(const ls_unwind_process& list);
  // Sets the list that the process uses from now on.
  Status set_process(Pid pid, const ls_unwind_process& list);
  void remove_process(Pid pid);

 private:
  struct Stored {
    ls_unwind_module module{};
    std::vector<std::pair<std::uint64_t, std::uint32_t>> rows;  // first, count
  };
  UnwindTables() = default;
  Status store(const UnwindTable& table, Stored& stored);
  Status store_rows(const UnwindTable& table, Stored& stored);

  int processes_fd_ = -1;
  SharedArray<ls_unwind_module> modules_;
  GrowingArray<std::uint32_t> rows_;
  GrowingArray<ls_unwind_mapping> mappings_;
  GrowingArray<ls_unwind_page> pages_;
  GrowingArray<ls_unwind_rule> rules_;
  FreeRanges free_rows_{LS_UNWIND_BLOCK_ROWS};
  FreeRanges free_mappings_;
  FreeRanges free_modules_;
  FreeRanges free_pages_;
  FreeRanges free_rules_;
  std::vector<Stored> stored_;  // by module
  std::uint32_t next_list_ = 1;
  std::size_t row_bytes_ = 0;
};

}  // namespace labelscope
