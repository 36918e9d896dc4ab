#include "unwind_table/frame_program.h"

#include <dwarf.h>

#include <cstring>

namespace labelscope {
namespace {

// A number of more bytes is left to libdw.
constexpr unsigned kMostLebBits = 56;

constexpr std::uint8_t kOperand = 0x3f;  // of the three instructions with an operand in their byte

}  // namespace

FrameProgram::FrameProgram(std::span<const std::byte> instructions, const CommonFrame& common,
                           const OrdinaryFrame& first, const FrameNumbers& numbers,
                           std::uint64_t start, std::uint64_t end)
    : left_(instructions),
      common_(common),
      first_(first),
      now_(first),
      numbers_(numbers),
      row_(start),
      location_(start),
      end_(end) {}

bool FrameProgram::begins_with_advance(std::span<const std::byte> instructions) {
  for (const std::byte each : instructions) {
    const auto instruction = std::to_integer<std::uint8_t>(each);
    if (instruction == DW_CFA_nop) continue;
    return (instruction & ~kOperand) == DW_CFA_advance_loc || instruction == DW_CFA_advance_loc1 ||
           instruction == DW_CFA_advance_loc2 || instruction == DW_CFA_advance_loc4;
  }
  return true;
}

bool FrameProgram::take(std::size_t size, std::uint64_t& value) {
  if (left_.size() < size) return false;
  value = 0;
  std::memcpy(&value, left_.data(), size);
  left_ = left_.subspan(size);
  return true;
}

bool FrameProgram::leb(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < kMostLebBits && !left_.empty(); shift += 7) {
    const auto part = std::to_integer<std::uint8_t>(left_[0]);
    left_ = left_.subspan(1);
    value |= std::uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80) == 0) return true;
  }
  return false;
}

bool FrameProgram::signed_leb(std::int64_t& value) {
  std::uint64_t bits = 0;
  for (unsigned shift = 0; shift < kMostLebBits && !left_.empty(); shift += 7) {
    const auto part = std::to_integer<std::uint8_t>(left_[0]);
    left_ = left_.subspan(1);
    bits |= std::uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80) != 0) continue;
    if ((part & 0x40) != 0) bits |= ~std::uint64_t{0} << (shift + 7);
    value = static_cast<std::int64_t>(bits);
    return true;
  }
  return false;
}

// Returns null for registers that no rule needs.
FramePlace* FrameProgram::place(OrdinaryFrame& state, std::uint64_t number) const {
  if (number == numbers_.return_address) return &state.return_address;
  if (number == numbers_.frame_pointer) return &state.frame_pointer;
  if (number == numbers_.rbx) return &state.rbx;
  return nullptr;
}

// Both are foreign, so that their product may not fit. Then it wraps, as in libdw.
std::uint64_t FrameProgram::by_data_factor(std::uint64_t value) const {
  return value * static_cast<std::uint64_t>(common_.data_factor);
}

bool FrameProgram::set_place(std::uint64_t number, FramePlace::Kind kind, std::uint64_t offset) {
  if (number == numbers_.stack_pointer) return false;
  FramePlace* set = place(now_, number);
  if (set != nullptr) *set = {kind, offset};
  return true;
}

bool FrameProgram::restore(std::uint64_t number) {
  if (number == numbers_.stack_pointer) return false;
  FramePlace* set = place(now_, number);
  if (set != nullptr) *set = *place(first_, number);
  return true;
}

// Returns false if the instruction is not ordinary.
bool FrameProgram::run_one(std::uint8_t instruction) {
  const std::uint64_t number = instruction & kOperand;
  std::uint64_t value = 0;
  switch (instruction & ~kOperand) {
    case DW_CFA_advance_loc:
      location_ += number * common_.code_factor;
      return true;
    case DW_CFA_offset:
      return leb(value) && set_place(number, FramePlace::kAtCfa, by_data_factor(value));
    case DW_CFA_restore:
      return restore(number);
    default:
      return run_extended(instruction);
  }
}

// The same for an instruction that has all of its operands behind it.
bool FrameProgram::run_extended(std::uint8_t instruction) {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::int64_t with_sign = 0;
  switch (instruction) {
    case DW_CFA_nop:
      return true;
    case DW_CFA_GNU_args_size:
      return leb(value);
    case DW_CFA_advance_loc1:
    case DW_CFA_advance_loc2:
    case DW_CFA_advance_loc4:
      if (!take(std::size_t{1} << (instruction - DW_CFA_advance_loc1), value)) return false;
      location_ += value * common_.code_factor;
      return true;
    case DW_CFA_def_cfa:
      if (!leb(number) || !leb(value)) return false;
      now_.cfa = {static_cast<unsigned>(number), value};
      return true;
    case DW_CFA_def_cfa_sf:
      if (!leb(number) || !signed_leb(with_sign)) return false;
      now_.cfa = {static_cast<unsigned>(number),
                  by_data_factor(static_cast<std::uint64_t>(with_sign))};
      return true;
    case DW_CFA_def_cfa_register:
      if (!leb(number)) return false;
      now_.cfa.number = static_cast<unsigned>(number);
      return true;
    case DW_CFA_def_cfa_offset:
      return leb(now_.cfa.offset);
    case DW_CFA_def_cfa_offset_sf:
      if (!signed_leb(with_sign)) return false;
      now_.cfa.offset = by_data_factor(static_cast<std::uint64_t>(with_sign));
      return true;
    case DW_CFA_offset_extended:
      return leb(number) && leb(value) &&
             set_place(number, FramePlace::kAtCfa, by_data_factor(value));
    case DW_CFA_offset_extended_sf:
      return leb(number) && signed_leb(with_sign) &&
             set_place(number, FramePlace::kAtCfa,
                       by_data_factor(static_cast<std::uint64_t>(with_sign)));
    case DW_CFA_undefined:
      return leb(number) && set_place(number, FramePlace::kUndefined, 0);
    case DW_CFA_same_value:
      return leb(number) && set_place(number, FramePlace::kSame, 0);
    case DW_CFA_restore_extended:
      return leb(number) && restore(number);
    case DW_CFA_remember_state:
      remembered_.push_back(now_);
      return true;
    case DW_CFA_restore_state:
      if (remembered_.empty()) return false;
      now_ = remembered_.back();
      remembered_.pop_back();
      return true;
    default:
      return false;
  }
}

bool FrameProgram::next(Row& row) {
  if (stopped_ || row_ >= end_) return false;
  while (!left_.empty()) {
    const auto instruction = std::to_integer<std::uint8_t>(left_[0]);
    left_ = left_.subspan(1);
    const std::uint64_t from = location_;
    if (!run_one(instruction) || location_ < from) {
      stopped_ = true;
      return false;
    }
    if (location_ == from) continue;
    row = {row_, location_ < end_ ? location_ : end_, now_};  // an advance changes no state
    row_ = row.end;
    return true;
  }
  row = {row_, end_, now_};
  row_ = end_;
  return true;
}

}  // namespace labelscope
