#include "unwind_table/frame_instructions.h"

#include <cstring>
#include <vector>

#include "support/catch.h"

namespace labelscope::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes all;
  for (int value : values) all.push_back(static_cast<std::byte>(value));
  return all;
}

void append_word(Bytes& out, std::uint32_t word) {
  const auto raw = std::as_bytes(std::span(&word, 1));
  out.insert(out.end(), raw.begin(), raw.end());
}

// Appends an entry with this reference and body, filled up with nops.
void append_entry(Bytes& out, std::uint32_t reference, Bytes body) {
  while (body.size() % 4 != 0) body.push_back(std::byte{0});
  append_word(out, static_cast<std::uint32_t>(body.size() + 4));
  append_word(out, reference);
  out.insert(out.end(), body.begin(), body.end());
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Every linker writes this CIE: version 1, "zR", code alignment 4, data alignment -8, register 30,
// addresses relative and in four bytes; then the state at the entry of a function.
const Bytes kEhCie = bytes({1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0});
// This FDE says where the function is, and nothing else.
const Bytes kEhFunction = bytes({0, 0, 0, 0, 0x40, 0, 0, 0, 0});

Bytes eh_frame(const Bytes& instructions, const Bytes& cie = kEhCie) {
  Bytes section;
  append_entry(section, 0, cie);
  append_entry(section, static_cast<std::uint32_t>(section.size() + 4),
               joined(kEhFunction, instructions));
  return section;
}

Bytes hidden(Bytes section, CallFrameKind kind = CallFrameKind::kEhFrame) {
  limit_instructions(section, kind, Machine::kAarch64);
  return section;
}

}  // namespace

TEST_CASE("frame_instructions: what says that a return address is signed is hidden") {
  // The instructions are advance_loc 1; negate_ra_state; advance_loc 1; def_cfa_offset 16; offset
  // x29, x30.
  const Bytes with = bytes({0x41, 0x2d, 0x41, 0x0e, 0x10, 0x9d, 2, 0x9e, 1});
  const Bytes without = bytes({0x41, 0x00, 0x41, 0x0e, 0x10, 0x9d, 2, 0x9e, 1});
  CHECK(hidden(eh_frame(with)) == eh_frame(without));
  // The newer instruction, whose signature includes the pc (0x2c), is hidden in the same way.
  CHECK(hidden(eh_frame(bytes({0x41, 0x2c}))) == eh_frame(bytes({0x41, 0x00})));
}

TEST_CASE("frame_instructions: operands that look like it stay") {
  for (const Bytes& same : {
           bytes({0x0e, 0x2d}),                    // def_cfa_offset
           bytes({0x0c, 0x2d, 0x2d}),              // def_cfa
           bytes({0x9d, 0x2d}),                    // offset
           bytes({0x02, 0x2d}),                    // advance_loc1
           bytes({0x03, 0x2d, 0x2d}),              // advance_loc2
           bytes({0x04, 0x2d, 0x2d, 0x2d, 0x2d}),  // advance_loc4
           bytes({0x01, 0x2d, 0x2d, 0x2d, 0x2d}),  // set_loc, as addresses are encoded
           bytes({0x10, 0x1e, 2, 0x2d, 0x2d}),     // expression
           bytes({0x0f, 2, 0x2d, 0x2d}),           // def_cfa_expression
           bytes({0x11, 0x2d, 0x2d}),              // offset_extended_sf
           bytes({0x2e, 0x2d}),                    // GNU_args_size
           bytes({0x0e, 0xad, 0x2d}),              // def_cfa_offset, a long number
           bytes({0x3f, 0x2d}),                    // behind an instruction that is none
       }) {
    const Bytes section = eh_frame(same);
    INFO(static_cast<int>(same.front()));
    CHECK(hidden(section) == section);
    // The instruction behind these is removed if their length is known.
    if (same.front() == std::byte{0x3f}) continue;
    CHECK(hidden(eh_frame(joined(same, bytes({0x2d})))) == eh_frame(joined(same, bytes({0}))));
  }
}

TEST_CASE("frame_instructions: the shared entry says how others begin") {
  // Without augmentation, addresses have eight bytes, and instructions follow right behind them.
  const Bytes plain = bytes({1, 0, 4, 0x78, 30});
  Bytes section;
  append_entry(section, 0, plain);
  const auto reference = static_cast<std::uint32_t>(section.size() + 4);
  Bytes expected = section;
  const Bytes where(16, std::byte{0x2d});
  append_entry(section, reference, joined(where, bytes({0x41, 0x2d})));
  append_entry(expected, reference, joined(where, bytes({0x41, 0})));
  CHECK(hidden(section) == expected);
  // With a personality routine ("zPLR") the encodings come in that order.
  const Bytes cxx = bytes({1, 'z', 'P', 'L', 'R', 0, 4, 0x78, 30, 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b});
  CHECK(hidden(eh_frame(bytes({0x2d}), cxx)) == eh_frame(bytes({0}), cxx));
}

TEST_CASE(
    "frame_instructions: .debug_frame has its own way to refer, and version 4 its own fields") {
  for (const Bytes& cie :
       {bytes({3, 0, 4, 0x78, 30, 0x0c, 31, 0}), bytes({4, 0, 8, 0, 4, 0x78, 30, 0x0c, 31, 0})}) {
    Bytes section;
    append_entry(section, 0xffffffff, cie);
    Bytes expected = section;
    const Bytes where(16, std::byte{0});
    append_entry(section, 0, joined(where, bytes({0x2d})));
    append_entry(expected, 0, joined(where, bytes({0})));
    CHECK(hidden(section, CallFrameKind::kDebugFrame) == expected);
  }
}

TEST_CASE("frame_instructions: entries that end early, or refer to none, are left alone") {
  const Bytes whole = eh_frame(bytes({0x41, 0x0f, 0xff, 0x7f, 0x2d}));
  CHECK(hidden(whole) == whole);  // an expression longer than the entry
  const Bytes some = eh_frame(bytes({0x41, 0x2d}));
  for (std::size_t size = 0; size < some.size(); ++size) {
    Bytes cut(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(hidden(cut).size() == size);
  }
  Bytes lost;
  append_entry(lost, 0x1000, joined(kEhFunction, bytes({0x2d})));
  CHECK(hidden(lost) == lost);
  // The text does not end, the augmentation is unknown, or the data is longer than the entry.
  for (const Bytes& cie : {bytes({1, 'z', 'R', 'X'}), bytes({1, 'e', 'h', 0, 4, 0x78, 30, 0}),
                           bytes({1, 'z', 'R', 0, 4, 0x78, 30, 0x7f, 0x1b, 0, 0, 0})}) {
    const Bytes section = eh_frame(bytes({0x2d}), cie);
    Bytes refused = cie;
    refused.front() = std::byte{0xff};  // a version that is none
    CHECK(hidden(section) == eh_frame(bytes({0x2d}), refused));
  }
}

TEST_CASE("frame_instructions: what would take much memory is none any more") {
  const Bytes push = bytes({0x0e, 0x10});
  for (const Machine machine : {Machine::kX86_64, Machine::kAarch64}) {
    const auto limited = [&](Bytes section) {
      limit_instructions(section, CallFrameKind::kEhFrame, machine);
      return section;
    };
    // The first number is the opcode; registers 127 and 128 follow in two bytes each.
    for (const int operation :
         {0x05, 0x06, 0x07, 0x08, 0x09, 0x0c, 0x0d, 0x11, 0x12, 0x14, 0x15, 0x16, 0x10, 0x2f}) {
      const Bytes last = bytes({operation, 0xff, 0x00, 0, 0x0e, 0x10});
      CHECK(limited(eh_frame(last)) == eh_frame(last));
      const Bytes beyond = bytes({operation, 0x80, 0x01, 0, 0x0e, 0x10});
      CHECK(limited(eh_frame(beyond)) == eh_frame(bytes({0x3f, 0x80, 0x01, 0, 0x0e, 0x10})));
    }
    const Bytes often(64, std::byte{0x0a});
    CHECK(limited(eh_frame(often)) == eh_frame(often));
    CHECK(limited(eh_frame(joined(often, bytes({0x0a})))) ==
          eh_frame(joined(often, bytes({0x3f}))));
    CHECK(limited(eh_frame(joined(often, bytes({0x0b, 0x0a})))) ==
          eh_frame(joined(often, bytes({0x0b, 0x0a}))));
  }
}

}  // namespace labelscope::test
