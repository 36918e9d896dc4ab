// Numbers of call frame instructions that no compiler writes. What compilers write is compared with
// readelf (readelf_rows_test.cc).
#include "unwind_table/frame_program.h"

#include <dwarf.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.h"

using namespace labelscope;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

// As a number with a sign, the product would be undefined (the sanitizer says so).
TEST_CASE("frame_program: a product with a data factor of a file's choice wraps, as in libdw") {
  constexpr std::int64_t kFactor = INT64_MIN / 3;
  constexpr std::uint64_t kTimes120 = 120 * static_cast<std::uint64_t>(kFactor);
  constexpr std::uint64_t kTimesMinus8 = -8 * static_cast<std::uint64_t>(kFactor);
  const FrameNumbers numbers = frame_numbers(Machine::kX86_64);
  const int sp = static_cast<int>(numbers.stack_pointer);
  const int fp = static_cast<int>(numbers.frame_pointer);
  const auto state_after = [&](std::initializer_list<int> instructions) {
    const std::vector<std::byte> program = bytes(instructions);
    FrameProgram frame(program, {1, kFactor}, {}, numbers, 0x1000, 0x1010);
    FrameProgram::Row row;
    REQUIRE(frame.next(row));
    return row.state;
  };
  // The byte 0x78 is the number 120, or -8 with a sign.
  CHECK(state_after({DW_CFA_offset | fp, 0x78}).frame_pointer.offset == kTimes120);
  CHECK(state_after({DW_CFA_offset_extended, fp, 0x78}).frame_pointer.offset == kTimes120);
  CHECK(state_after({DW_CFA_offset_extended_sf, fp, 0x78}).frame_pointer.offset == kTimesMinus8);
  CHECK(state_after({DW_CFA_def_cfa_sf, sp, 0x78}).cfa.offset == kTimesMinus8);
  CHECK(state_after({DW_CFA_def_cfa_offset_sf, 0x78}).cfa.offset == kTimesMinus8);
}
