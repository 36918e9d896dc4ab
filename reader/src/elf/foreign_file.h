// ELF files for platforms that labels are not defined for: 32 bits, big-endian, other processors,
// other systems. Only what it takes to tell that such a file publishes labels all the same.
//
// Source: System V gABI chapter 4. Thread-safe: nothing is shared; the descriptor's offset may
// move.
#pragma once

#include <optional>
#include <string>

#include "labelscope/unique_fd.h"

namespace labelscope {

// A program or shared object that is not for Linux on x86-64 or aarch64: what it is for ("riscv",
// "32-bit x86-64 (x32)"). nullopt: it is for one of them, or is no program or shared object.
std::optional<std::string> foreign_platform(const UniqueFd& file);

// Whether one of the ABI's two symbols is among its dynamic symbols, defined. A file whose section
// headers are missing or damaged is taken for one that defines neither.
bool foreign_publisher(const UniqueFd& file);

}  // namespace labelscope
