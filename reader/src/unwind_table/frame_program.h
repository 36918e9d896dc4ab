// Interprets the call frame instructions of one ordinary function, row by row.
//
// libdw answers what the frame is at one address. For that it interprets the function's entry from
// its start, with memory for every register that is named. So a function with ten rows is
// interpreted ten times, and a library with 800,000 rows takes a third of a second. Here the entry
// is read once, and only the CFA and three registers are followed:
//
//   advance 1     row [0, 1):   CFA = sp + 8,  RA at CFA - 8
//   CFA + 16      row [1, 4):   CFA = sp + 16, ...
//   rbp at -16
//   advance 3     ...
//
// What nearly every compiler writes is known here. At any other instruction it stops, and the
// caller goes on with libdw from that row on. What holds before the first instruction comes from
// libdw, too: so the ABI's rules for registers that nothing is said about are in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unwind_table/frame_rules.h"

namespace labelscope {

// What a common entry (CIE) says for all functions that refer to it.
struct CommonFrame {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
};

class FrameProgram {
 public:
  // The instructions have been limited (frame_instructions.h). `first` is the state at `start`.
  FrameProgram(std::span<const std::byte> instructions, const CommonFrame& common,
               const OrdinaryFrame& first, const FrameNumbers& numbers, std::uint64_t start,
               std::uint64_t end);

  struct Row {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    OrdinaryFrame state;
  };
  // Returns false at the end of the function, and at an instruction that is not ordinary.
  bool next(Row& row);
  // Returns where the row begins that next() could not find; the end of the function if there is
  // none.
  std::uint64_t reached() const { return row_; }

  // Returns whether the state at the start of a function is as its common entry has left it.
  static bool begins_with_advance(std::span<const std::byte> instructions);

 private:
  bool run_one(std::uint8_t instruction);
  bool run_extended(std::uint8_t instruction);
  std::uint64_t by_data_factor(std::uint64_t value) const;
  bool set_place(std::uint64_t number, FramePlace::Kind kind, std::uint64_t offset);
  bool restore(std::uint64_t number);
  FramePlace* place(OrdinaryFrame& state, std::uint64_t number) const;
  bool take(std::size_t size, std::uint64_t& value);
  bool leb(std::uint64_t& value);
  bool signed_leb(std::int64_t& value);

  std::span<const std::byte> left_;
  CommonFrame common_;
  OrdinaryFrame first_;
  OrdinaryFrame now_;
  FrameNumbers numbers_;
  std::uint64_t row_;       // where the row begins that is not returned yet
  std::uint64_t location_;  // where the instructions are
  std::uint64_t end_;
  bool stopped_ = false;
  std::vector<OrdinaryFrame> remembered_;
};

}  // namespace labelscope
