// A label set as tests compare it, and the three ways to get one: from this thread, inside a signal
// handler, and out of a stopped process. Elements are taken as they are, so that a null key or a
// key that is there twice makes a set that equals no expected one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "customlabels/writer.h"

// Sorted by key.
using Labels = std::vector<std::pair<std::string, std::string>>;

// What stands for a null pointer in a set that was read.
inline constexpr char kNullKeyText[] = "<null key>";
inline constexpr char kNullValueText[] = "<null value>";

Labels with(Labels labels, const std::string& key, const std::string& value);
Labels without(Labels labels, const std::string& key);
std::string to_string(const Labels& labels);

// The calling thread's current set.
Labels current_labels();

// For TEST_CASE_METHOD: a case that starts on a thread without labels.
struct NoLabels {
  NoLabels() { custom_labels_thread_clear(); }
};

// Whether the set at the address is this one; allocates nothing and is safe in a signal handler.
bool is_set(const custom_labels_labelset_t* set, const Labels& labels);

// The set that the variable at this address in a stopped process points to; nothing if any part of
// it cannot be read or is beyond what a writer under test may publish.
std::optional<Labels> read_remote_labels(pid_t pid,
                                         const custom_labels_labelset_t* const* variable);
