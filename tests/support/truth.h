// What a target says about itself, one JSON object for each thread (format: tests/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/result.h"

namespace labelscope::test {

// One publisher's variable as one thread sees it.
struct TruthVariable {
  std::string module;              // the file name of the publisher, without its directory
  std::optional<Address> address;  // none if not touched yet, which asking would change
  LabelSet labels;                 // what a reader must show: first of equal keys, no null keys
};

struct TruthThread {
  Tid tid{};
  Address thread_pointer = 0;
  std::string kind;  // "main", "worker", "unset" (touched, no labels), "untouched"
  std::vector<TruthVariable> variables;
};

// Fails with kMalformed if this is not the line of a thread.
Result<TruthThread> parse_truth_thread(const nlohmann::json& line);

}  // namespace labelscope::test
