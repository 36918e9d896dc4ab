// What the walk of one label set met on its way, kept only if somebody asks (explain/).
// walk_label_set() is this function with a null trace: one way through, told or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/memory.h"

namespace labelscope {

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

Observation walk_label_set(const MemorySource& memory, Address variable, std::uint8_t publisher,
                           WalkTrace* trace);

}  // namespace labelscope
