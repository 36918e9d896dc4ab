// What user space makes of the entries of the kernel's maps of totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "bpf/wire/wire.h"
#include "sampling/sampler.h"

namespace labelscope {

inline constexpr ls_sample_kind kKindOfPart[] = {LS_WAITING, LS_UNINTERRUPTIBLE, LS_RUNNABLE};
static_assert(std::size(kKindOfPart) == LS_WAIT_PARTS);
std::size_t part_of_kind(ls_sample_kind kind);

std::vector<WaitTotal> totals_of(std::span<const std::pair<ls_wait_key, ls_wait_total>> entries);
std::vector<BlameTotal> blame_of(std::span<const std::pair<ls_blame_key, ls_blame_total>> entries);
// Adds what a thread holds because there was no room for its total.
void add_held(const ls_off_cpu& thread, std::vector<WaitTotal>& all);

}  // namespace labelscope
