// From a thread pointer to one thread's labels: a recipe applied, three reads at most, and what all
// publishers of its process have there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/outcome.h"
#include "labelscope/registers.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

struct ProcessFacts;  // process_facts.h

struct Located {
  std::optional<Address> address;      // of the pointer to the label set
  ls_outcome outcome = LS_UNLABELLED;  // why there is no address; meaningless if there is one
  std::uint32_t flags = 0;             // LS_NEVER_TOUCHED
};

// What is known of one thread, which must hold still.
struct ThreadState {
  Address thread_pointer = 0;
  Tid tid{};                             // that it has for itself (gettid); 0: not known
  const Registers* registers = nullptr;  // null: not known
  const ProcessFacts* facts = nullptr;   // of its process; null: it says nothing
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory);
// Where the recipe may lead to a register, too.
Located locate(const ls_tls_recipe& recipe, const ThreadState& thread, const MemorySource& memory);

// Applies every recipe of a process to one thread, lets the recipe's source read what is there, and
// merges the results. The thread is labelled if any publisher has labels for it. Thread-safe.
Observation observe(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                    const MemorySource& memory);

}  // namespace labelscope
