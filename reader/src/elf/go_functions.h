// GoFunctions are the functions of a Go program, from the table by which its runtime itself unwinds
// and names functions. It is in every Go file, stripped or not: `.gopclntab`, here called the
// table.
//
//   header       magic, number of functions, where the code starts, offsets of what follows
//   names        strings, each with a zero at its end
//   pc tables    for a function: the depth of its stack, from instruction to instruction
//   functions    {start, offset} for each, sorted, and where the last one ends
//                  offset --> {start, name, ..., depths, ..., flags}
//
// A depth is how far the stack pointer is below what it was when the function began. Depths are
// stored as differences: pairs of "so much deeper" and "for so many bytes", which end with a zero.
//
// Go 1.18 to 1.25 are read. The formats before have pointers instead of offsets, and later ones
// leave the start of the text to the runtime. Sources: runtime/symtab.go, runtime/runtime2.go,
// debug/gosym/pclntab.go of Go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"
#include "labelscope/result.h"

namespace labelscope {

struct GoFunction {
  std::uint64_t start = 0;  // link-time address
  std::uint64_t end = 0;    // where the next function starts, so with the padding between them
  std::string_view name;    // in the memory of the table; empty if it is damaged
  std::uint32_t depths = 0;
  // TOPFRAME: it is the first function of a thread or program (or the kernel calls it)
  bool is_first = false;
  // SPWRITE: it writes the stack pointer, as code that changes stacks does
  bool sets_stack = false;
  bool is_handwritten = false;  // ASM
};

// From `start` to `end` the stack is this deep.
struct GoDepth {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::int32_t depth = 0;
};

class GoFunctions {
 public:
  // Fails with kNotFound if it is no Go file, with kUnsupported if the table has a version that is
  // not read, and with kMalformed or kLimit if the table is impossible. What is read is kept;
  // `file` may be closed. `is_late`, which may be empty, is asked for each MiB of a file without
  // section headers, where the table is searched.
  static Result<GoFunctions> read(const ElfImage& file, const std::function<bool()>& is_late = {});

  std::size_t count() const { return count_; }
  // Return the range of all code that the table describes.
  std::uint64_t start() const { return start_; }
  std::uint64_t end() const { return end_; }
  // Returns nullopt if the table has no such function, or an impossible one.
  std::optional<GoFunction> at(std::size_t index) const;
  // Returns the function that covers this address.
  std::optional<GoFunction> find(std::uint64_t address) const;
  // Returns the depths in order, without holes, from the function's start on. The list ends early
  // if the table is damaged.
  std::vector<GoDepth> depths_of(const GoFunction& function) const;

 private:
  GoFunctions() = default;
  Status parse(const ElfImage& file, std::uint64_t address, const std::function<bool()>& is_late);
  std::optional<std::uint32_t> word(std::uint64_t offset) const;
  std::uint64_t start_of(std::size_t index) const;
  std::string_view text(std::uint64_t offset) const;

  std::vector<std::byte> table_;
  std::uint64_t names_ = 0;  // offsets of parts
  std::uint64_t pc_tables_ = 0;
  std::uint64_t functions_ = 0;
  std::uint64_t quantum_ = 1;  // the size of the smallest instruction
  std::size_t flags_ = 0;      // offset of the flags in the description of a function
  std::size_t count_ = 0;
  std::uint64_t text_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace labelscope
