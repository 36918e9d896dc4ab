// The labels of one thread, from all publishers of its process.
#pragma once

#include <span>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// Applies every recipe of a process to one thread, lets the recipe's source read what is there, and
// merges the results. The thread is labelled if any publisher has labels for it. Thread-safe.
Observation observe(std::span<const ls_tls_recipe> recipes, Address thread_pointer,
                    const MemorySource& memory);

}  // namespace labelscope
