// Where threads begin. A stack is whole if it ends there, so the ways to take stacks ask here:
//
//   by tables            find_thread_starts(), starts_context(): the bytes of the code
//   by frame pointers    is_thread_start(): the name of the last function
//
// Call frame information has a word for it (the return address is undefined), but much code does
// not use it: musl has none, Go has its own, and glibc and boost leave out where contexts begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "elf/loaded_file.h"
#include "labelscope/elf_types.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

using AddRule =
    std::function<void(std::uint64_t start, std::uint64_t end, const ls_unwind_rule& rule)>;

// Finds in code without call frame information where threads, fibers and goroutines begin, and
// where one thread becomes two. `code` is at that link-time address of the file. Places may be
// added twice.
void find_thread_starts(const LoadedFile& file, Machine machine, std::string_view code,
                        std::uint64_t address, const AddRule& add);

// Returns whether a function that begins with this code is where makecontext() lets its context
// return to. Nobody calls it.
bool starts_context(std::string_view code, Machine machine);
inline constexpr std::size_t kContextStart = 8;  // so many bytes are needed

// Returns whether threads begin in the function of this name. A version may follow an "@".
bool is_thread_start(std::string_view function);

}  // namespace labelscope
