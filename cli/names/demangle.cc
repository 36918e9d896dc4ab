// libiberty's demanglers behind a bound. They limit their own recursion, but not what they print: a
// name of a hundred bytes whose back-references double at every step would print for hours. So the
// text goes through a callback into a fixed buffer, and a full buffer leaves the demangler.
//
// C++ names come without parameter lists and return types: perf shows them so by default, pprof
// cuts them, and overloads differ by file, line and SourceLine::system_name.
// libiberty declares its own basename() unless this is defined.
#define HAVE_DECL_BASENAME 1
#include "cli/names/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

namespace labelscope::cli {
using namespace std::string_view_literals;

namespace {

// Longer names are shown as they are. At this length the C++ demangler's recursion fits into 8 MiB
// of stack many times over even with its own limit off.
constexpr std::size_t kMaxMangled = 4096;
constexpr std::size_t kMaxDemangled = 16384;
// With its recursion limit on, libiberty refuses C++ names longer than half of that limit, which
// template-heavy programs do have.
constexpr std::size_t kMaxLimitedMangled = DEMANGLE_RECURSION_LIMIT / 2;

struct Output {
  std::array<char, kMaxDemangled> text;
  std::size_t size = 0;
  std::jmp_buf full;
};

void append(const char* text, std::size_t size, void* opaque) {
  Output& out = *static_cast<Output*>(opaque);
  // The callback cannot return "stop". Leaving by longjmp() skips only C frames and trivial
  // objects.
  if (size > out.text.size() - out.size)
    std::longjmp(out.full, 1);  // NOLINT(cert-err52-cpp): see above
  std::memcpy(out.text.data() + out.size, text, size);
  out.size += size;
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

bool run(Demangler demangler, const char* mangled, int options, Output& out) {
  out.size = 0;
  if (setjmp(out.full) != 0) return false;  // NOLINT(cert-err52-cpp): see append()
  return demangler(mangled, options, append, &out) != 0 && out.size > 0;
}

// The part of the name that the source code has: without symbol version ("@@GLIBC_2.2.5"), without
// the suffix that LLVM gives to functions which link-time optimization moved between modules, and
// without the name of a calling convention, which Go's linker gives to functions of its assembler.
std::string_view without_suffix(std::string_view name) {
  std::size_t version = name.find('@');
  if (version != std::string_view::npos && version > 0) name = name.substr(0, version);
  constexpr std::string_view kMoved = ".llvm.";
  // Few names have it, and looking from the end takes much longer.
  std::size_t moved = name.find(kMoved);
  if (moved != std::string_view::npos) moved = name.rfind(kMoved);
  if (moved != std::string_view::npos && moved > 0) {
    std::string_view digits = name.substr(moved + kMoved.size());
    bool numeric =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (numeric) name = name.substr(0, moved);
  }
  for (const std::string_view convention : {".abi0"sv, ".abiinternal"sv}) {
    if (!name.ends_with(convention)) continue;
    const std::string_view function = name.substr(0, name.size() - convention.size());
    if (function.find('.') != std::string_view::npos) return function;  // a package and a name
  }
  return name;
}

}  // namespace

std::string demangle(std::string_view mangled) {
  constexpr std::string_view kPltSuffix = "@plt";
  if (mangled.ends_with(kPltSuffix)) {
    const std::string_view function = mangled.substr(0, mangled.size() - kPltSuffix.size());
    if (!function.ends_with(kPltSuffix)) return demangle(function) + std::string(kPltSuffix);
  }
  std::string name(without_suffix(mangled));
  bool marked = name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("___Z");
  if (!marked || name.size() > kMaxMangled || name.find('\0') != std::string::npos) return name;

  Output out;
  // Try Rust first: its legacy names are valid C++ names too, but with a hash and escapes in them.
  constexpr std::string_view kHash = "17h";  // the length of the hash, and how it begins
  const bool may_be_rust = name.starts_with("_R") || name.find(kHash) != std::string::npos;
  if (may_be_rust && run(rust_demangle_callback, name.c_str(), DMGL_NO_OPTS, out)) {
    return std::string(out.text.data(), out.size);
  }
  int options = DMGL_ANSI;
  if (name.size() > kMaxLimitedMangled) options |= DMGL_NO_RECURSE_LIMIT;
  if (run(cplus_demangle_v3_callback, name.c_str(), options, out)) {
    return std::string(out.text.data(), out.size);
  }
  return name;
}

Answer make_demangle_task() {
  return [](const Message& message, Conversation& conversation) {
    conversation.reply(demangle(message.body));
    return Status();
  };
}

}  // namespace labelscope::cli
