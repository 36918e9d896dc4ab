// An accessor is a short exported function that returns where something is, or what it is:
// PostgreSQL's GetUserId(), MariaDB's thd_current_db(THD*). A preset names it in place of an
// offset, which differs between versions and processors: the function's own code says it. It is
// decoded and never run.
//
//   thd_user_name:  mov rax, [rdi+0x25f8]     the argument, + 0x25f8, what is there,
//                   mov rax, [rax+8]          + 8, what is there
//                   ret
//
// Accepted is straight code of a few loads and additions, with the frame that a compiler puts
// around it, and a test that returns null for a null pointer. Everything else is refused, with what
// the code does there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/result.h"

namespace labelscope {

// The most bytes of a function that are looked at.
inline constexpr std::size_t kAccessorBytes = 96;

// place = base + offsets[0]; for each other offset: place = *place + offset
struct Accessor {
  enum class Base { kArgument, kAddress, kThread };
  Base base{};
  std::vector<std::int64_t> offsets;  // of kAddress: the first one is a link-time address
  // Whether the result is the place itself, or else what is there: so many bytes.
  bool returns_place = false;
  unsigned size = 8;
};

// `code` are the bytes at the link-time address `address`. Fails with kUnsupported if it is no
// accessor: "it calls another function".
Result<Accessor> decode_accessor(Machine machine, std::span<const std::byte> code,
                                 std::uint64_t address);

}  // namespace labelscope
