// These functions find out about the Go runtime in a file: the version of Go, and where the runtime
// keeps the goroutine that a thread runs (g). They need no symbols, debug information or section
// headers, since Go programs are often stripped.
//
//   version    build information, which the linker puts into each file since Go 1.13. Before, and
//              where it was left out: the symbol runtime.buildVersion.
//   where g is
//     x86-64   in TLS. The first code of the runtime (rt0_go) tries out thread-local storage: it
//              stores 0x123 there. That instruction has the offset, or loads it from the GOT.
//     aarch64  in register x28. C code uses that register for itself, so a program with cgo keeps a
//              copy in TLS: the runtime's load_g() reads it, if a flag says that there is cgo.
//
// Only the code counts. The offset is -8 on x86-64 with Go's own linker; with another linker g may
// be anywhere, and another variable is at -8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "elf/elf_image.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"

namespace labelscope {

// A Go runtime: every Go program has one, and so has a C library that is made of Go.
struct GoRuntime : SourceInspection {
  std::string version;  // as it stands in the file ("go1.19.8"), bytes; empty if it does not
  unsigned minor = 0;   // 19 of Go 1.19; 0 if it is not known
  // Where a thread keeps the goroutine that it runs.
  enum class Slot {
    kUnknown,   // it was not found
    kNone,      // the file is a plugin, which runs in the runtime of its program
    kOffset,    // in TLS, `offset` bytes from the thread pointer
    kGot,       // in TLS; the loader writes the offset to link-time address `got`
    kRegister,  // in x28 alone
  };
  Slot slot = Slot::kUnknown;
  std::int64_t offset = 0;
  std::uint64_t got = 0;
  std::uint64_t text = 0;  // link-time address and size of the segment with the runtime's code
  std::uint64_t text_size = 0;
};

// Returns whether the file has a runtime of Go, and of which version. It is quick. Bytes of the
// file are hostile: the version is cut to a bounded length.
Result<std::optional<GoRuntime>> find_go_runtime(const ElfImage& image);
// Searches the code for where g is. That takes a few milliseconds for ten megabytes.
Status find_go_slot(const ElfImage& image, GoRuntime& go);

// Returns 19 for "go1.19.8", "devel go1.19-abc" and "go1.19rc1 X:flag", and 0 if it is not known.
unsigned go_minor_version(std::string_view version);

// Where the fields are that lead from g to the labels, in bytes from the start of the runtime's
// structures g and m. They are the same on both processors.
struct GoLayout {
  std::uint16_t g_m = 0;
  std::uint16_t g_labels = 0;
  std::uint16_t m_procid = 0;
  // If it is not 0, labels are a map, in which an entry exists if its mark is at least this. If it
  // is 0, they are a slice.
  std::uint16_t least_mark = 0;
};
// These are the versions whose layout is known.
inline constexpr unsigned kOldestGo = 11;
inline constexpr unsigned kNewestGo = 27;
// Returns nullopt for any other version.
std::optional<GoLayout> go_layout(unsigned minor);

}  // namespace labelscope
