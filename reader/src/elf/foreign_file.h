// These functions recognize ELF files that no process of this machine can load. There are those for
// platforms that the ABI does not cover: 32 bits, big-endian, other processors, other systems; this
// only finds out whether such a file publishes labels all the same. And there are those that hold
// debug information only.
//
// Source: System V gABI chapter 4. All functions are thread-safe. They may move the file offset of
// the descriptor.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// For a program or shared object that is not for Linux on x86-64 or aarch64, returns the platform
// that it is for ("riscv", "32-bit x86-64 (x32)"). Returns nullopt for all other files.
std::optional<std::string> foreign_platform(const UniqueFd& file);

// Returns whether the file defines one of these among its dynamic symbols. Returns false if its
// section headers are missing or damaged.
bool defines_any(const UniqueFd& file, std::span<const std::string_view> symbols);

// Returns whether objcopy --only-keep-debug made the file, or it comes from a package of debug
// information. Such a file has the headers, the symbols and the build ID of the file that it
// belongs to, but not its bytes: it cannot be run or loaded. Returns false for a file that cannot
// be read, too.
bool has_only_debug_information(const UniqueFd& file);
// Returns kUnsupported, for a user who has given such a file.
Error only_debug_information();

}  // namespace labelscope
