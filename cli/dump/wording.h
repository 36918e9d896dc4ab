// The words of a dump for its labels and its numbers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/dump/process_dump.h"
#include "sampling/snapshot.h"

namespace labelscope::cli {

// Returns a name that distinguishes this publisher from the others.
std::string publisher_name(const ProcessDump& dump, std::size_t publisher);

// One thread's labels in words: "tenant=42", their source if there are several publishers, and
// remarks.
struct LabelWord {
  std::string key;     // escaped key; empty: `text` is a remark of ours
  std::string text;    // escaped value, with its source; or the remark
  bool warns = false;  // something is wrong, not only absent
};

// It is never empty: a thread without labels has a remark about that.
std::vector<LabelWord> label_words(const ProcessDump& dump, const ThreadSnapshot& thread);

// Returns the labels of the process: escaped keys, and values with their sources.
std::vector<std::pair<std::string, std::string>> process_label_words(const ProcessDump& dump);

// The numbers under a dump: what became of the threads, and how long they were stopped.
struct DumpTotals {
  std::size_t threads = 0;  // the sum of all outcomes
  std::array<std::size_t, LS_OUTCOME_COUNT> outcomes{};
  std::size_t stopped = 0;  // threads that were stopped and read
  std::chrono::nanoseconds longest_stop{0};
  std::chrono::nanoseconds median_stop{0};  // stops of those threads that were being read
};

DumpTotals add_up(const ProcessSnapshot& snapshot);
// Returns all totals in one line, for people.
std::string totals_line(const ProcessSnapshot& snapshot);

}  // namespace labelscope::cli
