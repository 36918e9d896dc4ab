// These types are names for numbers. A process is the kernel's thread group: its `pid` is the
// kernel's tgid. A thread's `tid` is the kernel's pid. All are numbers of labelscope's own pid
// namespace.
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of labelscope need C++20 (-std=c++20); labelscope/labelscope.h is for C"
#endif

#include <cstdint>

namespace labelscope {

enum class Pid : std::int32_t {};
enum class Tid : std::int32_t {};

constexpr std::int32_t raw(Pid pid) { return static_cast<std::int32_t>(pid); }
constexpr std::int32_t raw(Tid tid) { return static_cast<std::int32_t>(tid); }

// A virtual address in the target process; never a pointer of labelscope itself.
using Address = std::uint64_t;

}  // namespace labelscope
