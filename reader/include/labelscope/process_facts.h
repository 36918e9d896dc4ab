// These are facts that a process publishes once for all its threads: OpenTelemetry's process
// context (OTEP 4719). It names the process (service.name, ...) and the keys of its threads'
// records, which are numbers.
//
//   a mapping of the process           anywhere in its memory
//   +--------------------------+       +----------------------------------+
//   | "OTEL_CTX" | 2 | size    |   +-> | protobuf: ProcessContext         |
//   | published at | payload --+---+   |   resource: service.name = ...   |
//   +--------------------------+       |   threadlocal.attribute_key_map  |
//                                      +----------------------------------+
//
// A process may replace the payload at any time: `published at` is 0 meanwhile, and another number
// afterwards. So a caller that has read it calls has_changed() now and then, which is one read of 8
// bytes. All of it comes from the target: it is bounded, and it is not text before it is escaped.
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

// Sorted by key; each key is there once.
using Attributes = std::vector<std::pair<std::string, std::string>>;
using Numbers = std::vector<std::pair<std::string, std::int64_t>>;

struct ProcessFacts {
  Attributes attributes;  // those of the process: service.name, ...
  // those of its threads' records, by number; empty for a key that cannot be used
  std::vector<std::string> keys;
  std::string schema;  // that of its threads' records, "tlsdesc_v1_dev"; empty if there is none
  // properties of the records: "tagged_size" is threadlocal.tagged_size in the context
  Numbers numbers;
  std::vector<Finding> findings;  // why there is less here than the process publishes
  Address header = 0;
  std::uint64_t published_ns = 0;  // CLOCK_BOOTTIME; 0 if it was never read while it was whole
  bool of_parent = false;          // true if it is in the process that this one was forked from
  // These come from the user: keys of the variables that become labels (variable_spec.h). With them
  // a process may have facts although it publishes nothing.
  VariableKeys variable_keys{};

  bool has_context() const { return header != 0; }
};

// Returns whether both have the same content.
inline bool say_the_same(const ProcessFacts& a, const ProcessFacts& b) {
  return a.attributes == b.attributes && a.keys == b.keys && a.schema == b.schema &&
         a.numbers == b.numbers;
}

// Returns null if the process has no context. `wanted` means that its threads have records. Then
// mappings without a name are looked at, too (a kernel may not keep names of anonymous memory, and
// a core file never has them), and the process that this one was forked from.
std::shared_ptr<const ProcessFacts> read_process_facts(const Target& target,
                                                       const std::vector<Mapping>& mappings,
                                                       bool wanted);

// Returns what is known of a process that had `before`, and has `now`. That has a finding if a key
// had another name before: records that use its number may be of that time. Either may be null.
std::shared_ptr<const ProcessFacts> with_history(const ProcessFacts* before,
                                                 std::shared_ptr<const ProcessFacts> now);

// Returns whether the process has replaced its context since, or withdrawn it. Returns false if it
// had none, or if the context is that of a parent.
bool has_changed(const ProcessFacts& facts, const MemorySource& memory);

}  // namespace labelscope
