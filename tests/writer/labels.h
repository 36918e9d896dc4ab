// A label set in the form in which tests compare it, and three ways to get one: from this thread,
// inside a signal handler, and out of a stopped process. Elements are taken as they are, so that a
// null key or a repeated key makes a set that equals no expected one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "customlabels/writer.h"

// The labels are sorted by key.
using Labels = std::vector<std::pair<std::string, std::string>>;

// This stands for a null pointer in a set that was read.
inline constexpr char kNullKeyText[] = "<null key>";
inline constexpr char kNullValueText[] = "<null value>";

Labels with(Labels labels, const std::string& key, const std::string& value);
Labels without(Labels labels, const std::string& key);
std::string to_string(const Labels& labels);

// Returns the calling thread's current set.
Labels current_labels();

// With TEST_CASE_METHOD it makes a test case start on a thread without labels.
struct NoLabels {
  NoLabels() { custom_labels_thread_clear(); }
};

// Returns whether the set at the address is this one. It allocates nothing and is safe in a signal
// handler.
bool is_set(const custom_labels_labelset_t* set, const Labels& labels);

// Returns the set of the variable at this address in a stopped process. Returns nothing if any part
// of it cannot be read, or is beyond what a writer under test may publish.
std::optional<Labels> read_remote_labels(pid_t pid,
                                         const custom_labels_labelset_t* const* variable);
