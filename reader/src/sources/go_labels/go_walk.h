// This walk goes from the goroutine that a thread runs to its labels.
//
//   thread's slot, or x28
//     |
//     v
//     g --------> m                     the runtime's record of the thread
//                 | procid              must be this thread: else nothing here is what it seems
//                 | curg
//                 v
//                 g                     the user's goroutine. The first one may be the scheduler's,
//                 | gopc, startpc       or a signal handler's, which have no labels
//                 | labels
//                 v
//     up to Go 1.23   hash map -------> buckets of 8 entries, with overflow chains; while it grew,
//                                       some entries were left in the buckets it had before
//     since Go 1.24   {address, length, capacity} --> {key, value} ...
//
// A label set is never changed once a goroutine has it, so that a stopped thread has a whole one.
//
// Nothing here may be trusted: a file may have a wrong version, code outside of the runtime may put
// pointers of its own where labels are, and the register has something else in the kernel's shared
// code (vDSO). So each step is checked. Both pointers to code are at fixed distances from the
// labels in all versions, which detects a wrong layout. A map must have as many entries as its
// count, or it is rejected; and no more than kMostGoBuckets buckets are looked at, which 128 labels
// never need. labelscope/bpf/go_labels.bpf.h follows the same rules, and tests/native compares the
// two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "labelscope/label.h"
#include "labelscope/observe.h"
#include "sources/go_labels/go_runtime.h"

namespace labelscope {

inline constexpr unsigned kMostGoBuckets = 64;

// The parameters of a recipe: what the walk must know of a runtime.
struct GoParameters {
  GoLayout layout;
  Address text = 0;  // where the runtime's code is in the process
  Address text_end = 0;
};
void put_parameters(const GoParameters& parameters, ls_tls_recipe& recipe);
GoParameters parameters_of(const ls_tls_recipe& recipe);

// What the walk found on its way, kept only if the caller asks for it.
struct GoTrace {
  std::optional<Address> g;
  std::optional<Address> m;
  std::optional<std::uint64_t> procid;
  std::optional<Address> curg;
  std::optional<Address> labels;
  std::uint64_t count = 0;
  unsigned buckets = 0;
  std::string problem;  // what was contradictory; empty if nothing was
};

// `place` is the address of the slot, or with LS_IN_REGISTER g itself. `thread_number` is the
// thread's own (gettid), or 0 if it is not known; then it is not checked.
Observation walk_go_labels(const MemorySource& memory, const ls_tls_recipe& recipe, Address place,
                           Tid thread_number, std::uint8_t publisher, GoTrace* trace = nullptr);

}  // namespace labelscope
