// What applying a recipe to one thread met on its way, kept only if somebody asks (explain.cc).
// locate() and walk_label_set() are these functions with a null trace: one way through, told or
// not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/locate.h"
#include "labelscope/memory.h"
#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// Each value as it was read; nullopt: not asked for, or it could not be read.
struct LocateTrace {
  std::optional<Address> dtv;
  std::optional<std::uint64_t> length;
  std::optional<std::uint64_t> generation;
  std::optional<Address> block;
};

// What became of one element of the array.
enum class ElementFate {
  kKept,
  kNoKey,
  kNullValue,
  kImpossible,    // a string that leaves the address space
  kBeyondLabels,  // the first one past LS_MAX_LABELS
  kBeyondBytes,   // would exceed LS_MAX_LABEL_BYTES
  kUnreadable,    // one of its strings is not there
};

struct ElementTrace {
  ElementFate fate = ElementFate::kKept;
  std::uint64_t key_length = 0;
  Address key_address = 0;
  std::uint64_t value_length = 0;
  Address value_address = 0;
  bool read = false;  // both strings were
  std::string key;
  std::string value;
};

struct WalkTrace {
  std::optional<Address> set;  // what the variable holds
  struct Head {
    Address storage = 0;
    std::uint64_t count = 0;
    std::uint64_t capacity = 0;
  };
  std::optional<Head> head;
  bool array_read = false;
  std::vector<ElementTrace> elements;  // those that were looked at
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory,
               LocateTrace* trace);
Observation walk_label_set(const MemorySource& memory, Address variable, std::uint8_t publisher,
                           WalkTrace* trace);

}  // namespace labelscope
