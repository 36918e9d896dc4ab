// What a file tells of the Go runtime in it: the version of Go, and where the runtime keeps the
// goroutine that a thread runs (g). Nothing here needs symbols, debug information or section
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
// Only what the code says counts. That the offset is -8 on x86-64 is true of Go's own linker; with
// another one g may be anywhere, and -8 is somebody else's variable.
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
struct GoRuntime : OwnFacts {
  std::string version;  // as the file says it ("go1.19.8"), bytes; empty: it does not say
  unsigned minor = 0;   // 19 of Go 1.19; 0: not known
  // Where a thread's code has the goroutine that it runs.
  enum class Slot {
    kUnknown,   // not found
    kNone,      // a plugin: it runs in the runtime of its program
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

// Whether the file has a runtime of Go, and of which version; quick. Bytes of the file are hostile:
// the version is cut to a bounded length.
Result<std::optional<GoRuntime>> find_go_runtime(const ElfImage& image);
// Searches the code for where g is, some milliseconds for ten megabytes.
Status find_go_slot(const ElfImage& image, GoRuntime& go);

// 19 of "go1.19.8", of "devel go1.19-abc" and "go1.19rc1 X:flag"; 0: it does not say.
unsigned go_minor_version(std::string_view version);

// Where the fields are that lead from g to the labels: bytes from the start of the runtime's
// structures g and m. The same on both processors.
struct GoLayout {
  std::uint16_t g_m = 0;
  std::uint16_t g_labels = 0;
  std::uint16_t m_procid = 0;
  // Labels are a map, in which an entry whose mark is at least this exists; 0: a slice.
  std::uint16_t least_mark = 0;
};
// The versions whose layout is known.
inline constexpr unsigned kOldestGo = 11;
inline constexpr unsigned kNewestGo = 27;
// nullopt: not one of these.
std::optional<GoLayout> go_layout(unsigned minor);

}  // namespace labelscope
