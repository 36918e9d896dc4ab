#include "cli/names/line_rows.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace labelscope::cli {
namespace {

// Reads forward and never past the end; there everything is 0.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  void skip(std::uint64_t count) {
    left_ = left_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(count, left_.size())));
  }
  // Keeps only the next `count` bytes.
  void cut(std::uint64_t count) {
    left_ = left_.first(static_cast<std::size_t>(std::min<std::uint64_t>(count, left_.size())));
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, left_.data(), std::min(size, left_.size()));
    skip(size);
    return value;
  }
  std::uint64_t uleb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !left_.empty(); shift += 7) {
      const std::uint8_t part = byte();
      if (shift < 64) value |= static_cast<std::uint64_t>(part & 0x7F) << shift;
      if ((part & 0x80) == 0) break;
    }
    return value;
  }

 private:
  std::span<const std::byte> left_;
};

struct Program {
  Bytes bytes;
  unsigned first_special = 0;
  std::array<std::uint8_t, 256> operands{};
};

// Finds the opcodes of the table, behind its header.
Program open_program(Bytes bytes) {
  std::uint64_t length = bytes.number(4);
  const bool wide = length == 0xFFFFFFFF;
  if (wide) length = bytes.number(8);
  bytes.cut(length);
  const auto version = bytes.number(2);
  if (version >= 5) bytes.skip(2);  // sizes of addresses and segments
  const std::uint64_t header = bytes.number(wide ? 8 : 4);
  Program program{bytes};
  program.bytes.skip(header);
  bytes.skip(version >= 4 ? 5 : 4);  // up to the line range
  program.first_special = bytes.byte();
  for (unsigned i = 1; i < program.first_special; ++i) program.operands[i] = bytes.byte();
  return program;
}

}  // namespace

std::uint64_t count_line_rows(std::span<const std::byte> section, std::uint64_t offset,
                              bool little_endian) {
  if (offset >= section.size()) return 0;
  const std::span<const std::byte> table = section.subspan(static_cast<std::size_t>(offset));
  // For big-endian platforms it returns the most that is possible.
  if (!little_endian) return table.size();
  Program program = open_program(Bytes(table));
  Bytes& bytes = program.bytes;
  std::uint64_t rows = 0;
  while (!bytes.empty()) {
    const unsigned opcode = bytes.byte();
    if (opcode >= program.first_special) {
      ++rows;
    } else if (opcode == 0) {
      const std::uint64_t size = bytes.uleb128();
      Bytes extended = bytes;
      if (size > 0 && extended.byte() == DW_LNE_end_sequence) ++rows;
      bytes.skip(size);
    } else if (opcode == DW_LNS_fixed_advance_pc) {
      bytes.skip(2);
    } else {
      if (opcode == DW_LNS_copy) ++rows;
      for (unsigned i = 0; i < program.operands[opcode]; ++i) bytes.uleb128();
    }
  }
  return rows;
}

}  // namespace labelscope::cli
