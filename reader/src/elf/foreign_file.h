// ELF files that no process of ours can load. Those for platforms that the ABI does not cover: 32
// bits, big-endian, other processors, other systems; here one learns whether such a file publishes
// labels all the same, and no more. And those that hold debug information only.
//
// Source: System V gABI chapter 4. Thread-safe. The file offset of the descriptor may move.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// For a program or shared object that is not for Linux on x86-64 or aarch64: the platform that it
// is for ("riscv", "32-bit x86-64 (x32)"). nullopt for all other files.
std::optional<std::string> foreign_platform(const UniqueFd& file);

// Whether the file defines one of these among its dynamic symbols. False if its section headers are
// missing or damaged.
bool defines_any(const UniqueFd& file, std::span<const std::string_view> symbols);

// Whether objcopy --only-keep-debug made the file, or a package of debug information holds it. It
// has the headers, the symbols and the build ID of the file that it belongs to, but not its bytes:
// nobody can run or load it. False for what cannot be read, too.
bool has_only_debug_information(const UniqueFd& file);
// kUnsupported, for whom such a file was given.
Error only_debug_information();

}  // namespace labelscope
