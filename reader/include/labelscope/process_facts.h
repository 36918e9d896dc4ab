// What a process says once for all its threads: OpenTelemetry's process context (OTEP 4719). It
// names the process (service.name, ...) and the keys of its threads' records, which are numbers.
//
//   a mapping of the process           anywhere in its memory
//   +--------------------------+       +----------------------------------+
//   | "OTEL_CTX" | 2 | size    |   +-> | protobuf: ProcessContext         |
//   | published at | payload --+---+   |   resource: service.name = ...   |
//   +--------------------------+       |   threadlocal.attribute_key_map  |
//                                      +----------------------------------+
//
// A process replaces the payload at any time: `published at` is 0 meanwhile, and another number
// afterwards. So whoever has read it asks has_changed() now and then, which is one read of 8 bytes.
// All of it is the target's word: bounded, and not text before somebody escapes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/mapping.h"
#include "labelscope/memory.h"
#include "labelscope/target.h"
#include "labelscope/variable_spec.h"

namespace labelscope {

// By key; each key once.
using Attributes = std::vector<std::pair<std::string, std::string>>;
using Numbers = std::vector<std::pair<std::string, std::int64_t>>;

struct ProcessFacts {
  Attributes attributes;          // of the process: service.name, ...
  std::vector<std::string> keys;  // of its threads' records, by number; empty where one is unusable
  std::string schema;             // of its threads' records, "tlsdesc_v1_dev"; empty: it says none
  Numbers numbers;  // about the records: "tagged_size" is threadlocal.tagged_size there
  std::vector<Finding> findings;  // why there is less than the process says
  Address header = 0;
  std::uint64_t published_ns = 0;  // CLOCK_BOOTTIME; 0: it could not be read while it was whole
  bool of_parent = false;          // it stands in the process that this one was forked from
  // The user's own word on it: keys of the variables that are to be labels (variable_spec.h). With
  // these there may be facts of a process that says nothing.
  VariableKeys variable_keys{};

  bool has_context() const { return header != 0; }
};

// Whether both say the same.
inline bool say_the_same(const ProcessFacts& a, const ProcessFacts& b) {
  return a.attributes == b.attributes && a.keys == b.keys && a.schema == b.schema &&
         a.numbers == b.numbers;
}

// Null if the process has no context. `wanted`: its threads have records. Then mappings without a
// name are looked at, too (a kernel may not keep names of anonymous memory, and a core file never
// does), and the process that this one was forked from.
std::shared_ptr<const ProcessFacts> read_process_facts(const Target& target,
                                                       const std::vector<Mapping>& mappings,
                                                       bool wanted);

// Whether the process has replaced its context since, or withdrawn it. False if it had none, or if the
// context is that of a parent.
bool has_changed(const ProcessFacts& facts, const MemorySource& memory);

}  // namespace labelscope
