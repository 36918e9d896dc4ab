// A thread of either kind of target, held still.
#pragma once

#include <chrono>
#include <functional>

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/result.h"

struct ls_plan;
struct ls_target;

namespace labelscope::c_api {

using HeldThreadUse = std::function<void(Address thread_pointer, const MemorySource& memory)>;

// Calls `use` while the thread is stopped; returns for how long it was (0 in a core).
// kVanished: it ended, or its process runs another program than the plan was made for.
Result<std::chrono::nanoseconds> with_held_thread(const ls_target& target, const ls_plan& plan,
                                                  Tid tid, const HeldThreadUse& use);

}  // namespace labelscope::c_api
