// This goes from a thread pointer to one thread's labels. It applies recipes, with at most three
// reads each, and reads what all publishers of the process have there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/outcome.h"
#include "labelscope/registers.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

class PresetPlans;    // preset_plan.h
struct ProcessFacts;  // process_facts.h

struct Located {
  std::optional<Address> address;      // address of the pointer to the label set
  ls_outcome outcome = LS_UNLABELLED;  // why there is no address; meaningless if there is one
  std::uint32_t flags = 0;             // LS_NEVER_TOUCHED
};

// What is known of one thread, which must be stopped.
struct ThreadState {
  Address thread_pointer = 0;
  Tid tid{};  // the number that gettid() returns to it, or 0 if it is not known
  const Registers* registers = nullptr;  // null if they are not known
  const ProcessFacts* facts = nullptr;   // those of its process; null if it has none
  bool first = false;                    // true if its number is the process's
  std::string_view name{};  // at most 15 bytes; empty if it is not known, or not asked for
  const PresetPlans* presets = nullptr;  // those of its process's plan; null if it has none
};

// What is known of a process for all its threads, beside its recipes. Without it, bytes that were
// read of a thread may lack their meaning. Both may be null.
struct Meanings {
  const ProcessFacts* facts = nullptr;
  const PresetPlans* presets = nullptr;
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory);
// Locates the variable, also if the recipe leads to a register, or to an address that only the
// first thread uses.
Located locate(const ls_tls_recipe& recipe, const ThreadState& thread, const MemorySource& memory);

// Applies every recipe of a process to one thread, lets the recipe's source read what is there, and
// merges the results. The thread is labelled if any publisher has labels for it. It is thread-safe.
Observation observe(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                    const MemorySource& memory);

}  // namespace labelscope
